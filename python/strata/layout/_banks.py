"""Bank conflicts of an access to local memory, by the timing model's banks."""

from .._layout import ComposedLayout, Layout, _bank_conflicts


class BankConflicts:
    """The bank conflicts of one access of a wave to local memory.

    ways: most different dwords of one bank in a pass, 1 without conflicts. cycles: that the access takes; without:
    that it would take without conflicts. lanes: a tuple a bank of the lanes that meet there in a pass with different
    dwords; banks where the same lanes meet are one.
    """

    def __init__(self, ways: int, cycles: int, without: int, lanes: tuple[tuple[int, ...], ...]):
        self.ways, self.cycles, self.without, self.lanes = ways, cycles, without, lanes

    def __repr__(self) -> str:
        return f"BankConflicts(ways={self.ways}, cycles={self.cycles}, without={self.without}, lanes={self.lanes})"


def bank_conflicts(layout: Layout | ComposedLayout, *, bits: int = 32, arch: str = "gfx1100") -> BankConflicts:
    """The bank conflicts of an access where lane l takes the element of `bits` bits at layout(l).

    A second mode is the values of each lane's access, which lie side by side, 128 bits at most. LayoutError where there
    are more lanes than a wave of `arch` has, or no such access.
    """
    return BankConflicts(**_bank_conflicts(layout, bits, arch))
