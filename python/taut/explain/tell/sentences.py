"""What happened, as a sentence: who had a core, and how late that made a packet."""

from taut.core.units import format_ns
from taut.explain import causes
from taut.explain.causes import BY_ID
from taut.explain.grades import is_guess
from taut.explain.judge.kernel_path import SOFTIRQ
from taut.explain.tell.result import EpisodeStory, GapStory
from taut.explain.walk.stalls import FROM_EVENTS
from taut.records.documents.trial import HOP

_TAUT, _DEVICE = '"taut', '"taut-forward'
_STOOD = {FROM_EVENTS: "did not run the thread", SOFTIRQ: "held packets"}
"""What a core did meanwhile that is not known to poll."""


def culprit(cause: str, who: str) -> str:
    """Name who had a core, or what it waited for: `another thread, "mypy"`."""
    known = BY_ID.get(cause)
    # Results may hold the cause of a plug-in that is not here.
    noun = cause if known is None else known.noun or known.title
    if who.startswith(_TAUT) and not who.startswith(_DEVICE):
        return f"taut itself, {who}"
    if not who:
        return noun
    return f"{noun}, {who}" if who.startswith('"') else f"{noun} ({who})"


def core_words(gap: GapStory) -> str:
    """Name the core of a gap, in a chain with its hop."""
    return f"{gap.thread}'s core {gap.core}" if gap.thread.startswith(HOP) else f"core {gap.core}"


def gap_sentence(gap: GapStory, core: str) -> str:
    """Say who had a core, for how long; a guess with "perhaps"."""
    time = format_ns(gap.end_ns - gap.start_ns)
    maybe = "perhaps " if is_guess(gap.cause, gap.grade) else ""
    stood = _STOOD.get(gap.thread, "did not poll")
    if gap.cause == causes.UNKNOWN.id and gap.detail:
        return f"{core} {stood} for {time}: {gap.detail}"
    if did := BY_ID[gap.cause].did:
        who = f" ({gap.detail})" if gap.detail else ""
        return f"{maybe}{core} {did.format(time=time, who=who, stood=stood)}"
    return f"{maybe}{core} was taken for {time} by {culprit(gap.cause, gap.detail)}"


def episode_sentence(story: EpisodeStory, worst_seq: int, reason: str) -> str:
    """Say how many packets were how late and why; `reason` is used where no gap is blamed."""
    n_late = story.n_packets - story.n_lost - story.n_unsent
    more = f" and {n_late - 1:,} more, up to" if n_late > 1 else ","
    head = f"Packet {worst_seq:,}{more} {format_ns(story.worst_excess_ns)} late"
    gone = {"lost": story.n_lost, "that could not be sent": story.n_unsent}
    words = " and ".join(f"{n:,} {what}" for what, n in gone.items() if n)
    beside = f", with {words}" if words else ""
    return f"{head}{beside}: {_why(story, reason)}."


def _why(story: EpisodeStory, reason: str) -> str:
    gap = story.gap
    if gap is not None:
        own = "the generator's own core" if story.cause == causes.MEASURER.id else core_words(gap)
        told = gap_sentence(gap, own)
        if is_guess(gap.cause, gap.grade) and gap.missing:
            told += f" (a guess; missing: {gap.missing[0]})"
        return f"{reason}: {told}" if reason else told
    missing = f"; missing: {story.missing[0]}" if story.missing else ""
    maybe = "perhaps " if is_guess(story.cause, story.grade) else ""
    if reason:
        return f"{maybe}{reason}{missing}"
    if story.cause == causes.BATCHING.id:
        return f"{maybe}it waited in a batch of the device's transmit policy"
    if story.cause == causes.MEASURER.id:
        return f"{maybe}the generator itself was held up"
    return f"nothing recorded says why{missing}"
