"""The devices under test: one file each, this table names them all; plug-ins stand beside."""

from taut.core.plugins import Family, NamedTable
from taut.dut.driver import DutDriver
from taut.dut.drivers.chain import ChainDriver
from taut.dut.drivers.command import CommandDriver
from taut.dut.drivers.l2fwd import L2fwdDriver
from taut.dut.drivers.linux_bridge import LinuxBridgeDriver
from taut.dut.drivers.linux_firewall import LinuxFirewallDriver
from taut.dut.drivers.linux_router import LinuxRouterDriver
from taut.dut.drivers.loopback import LoopbackDriver
from taut.dut.drivers.ovs_dpdk import OvsDpdkDriver
from taut.dut.drivers.ovs_kernel import OvsKernelDriver
from taut.dut.drivers.snort import SnortDriver
from taut.dut.drivers.suricata import SuricataDriver
from taut.dut.drivers.taut_forward import TautForwardDriver
from taut.dut.drivers.testpmd import TestpmdDriver

_OURS: tuple[DutDriver, ...] = (
    LoopbackDriver(),
    TautForwardDriver(),
    ChainDriver(),
    TestpmdDriver(),
    L2fwdDriver(),
    LinuxBridgeDriver(),
    LinuxRouterDriver(),
    LinuxFirewallDriver(),
    OvsDpdkDriver(),
    OvsKernelDriver(),
    SuricataDriver(),
    SnortDriver(),
    CommandDriver(),
)

DRIVERS: NamedTable[DutDriver] = NamedTable(
    Family("taut.devices", DutDriver, _OURS, lambda driver: driver.name)
)
