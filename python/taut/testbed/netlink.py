"""The one file that speaks netlink (pyroute2): namespaces, links, bridges."""

from pyroute2 import IPRoute, netns
