"""The devices under test: one file each, this table names them all."""

from taut.dut.driver import DutDriver
from taut.dut.drivers.chain import ChainDriver
from taut.dut.drivers.command import CommandDriver
from taut.dut.drivers.l2fwd import L2fwdDriver
from taut.dut.drivers.linux_bridge import LinuxBridgeDriver
from taut.dut.drivers.linux_firewall import LinuxFirewallDriver
from taut.dut.drivers.linux_router import LinuxRouterDriver
from taut.dut.drivers.loopback import LoopbackDriver
from taut.dut.drivers.taut_forward import TautForwardDriver
from taut.dut.drivers.testpmd import TestpmdDriver

DRIVERS: dict[str, DutDriver] = {
    driver.name: driver
    for driver in (
        LoopbackDriver(),
        TautForwardDriver(),
        ChainDriver(),
        TestpmdDriver(),
        L2fwdDriver(),
        LinuxBridgeDriver(),
        LinuxRouterDriver(),
        LinuxFirewallDriver(),
        CommandDriver(),
    )
}
