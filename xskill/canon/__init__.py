"""Raw logs → trajectories: readers, canonical actions, outcomes, redaction.

The way of one raw line of ``log.jsonl``, stop by stop (what goes in → what comes out):

1. ``pipeline.convert_logs``: names and options, checked once (``canon_options.check_options``) → a
   :class:`Conversion`, whose ``blocks`` gives encoded trajectories, counts them and keeps bad records aside. The
   command (through ``written.write_trajectories``) and Python both come in here.

2. ``pipeline.read_input``: one name → an opened input. With ``jobs`` > 1 ``parallel`` sends chunks of lines to worker
   processes, which take the same stops from 4 on; the profiles are chosen in order, so the bytes are the same.

3. ``detect.open_log``: the opened input → a :class:`Log`: its :class:`Format` (``formats.table``, in order, unless
   ``--from`` or ``--map`` names it) and its records: numbered raw lines, parsed values, or the whole at once.

4. ``convert.Converter``: a raw line → its parsed value → the format's ``read(value, place)`` → a ``RawEpisode`` of
   ``RawStep`` objects (``reading.episode``): what the log says, and nothing more. What a reader does not carry over, it
   counts in ``place.tally``. An error of any kind becomes a ``BadRecord`` with file and line.

5. ``assemble.Assembler.encoded``: the raw episode, completed in place → one line of JSON, or none when an option drops
   it. On the way:

* ``actions.step_tokens.Actions.complete``: raw actions → tokens ``verb<role>`` and args, under a profile
  (``actions.canonicalizer``; results are kept by raw action), and redaction of the steps;
* ``outcome.decide.OutcomeRules.decide``: record, ``--outcomes``, ``--success-if`` → success, reward, task type;
* ``redact.redactor``: the episode's own texts → texts without secrets.

6. Back in ``blocks``, and from there to the writer or to ``Conversion.trajectories``.

Our own trajectories take the same way. Their format (``formats.xskill_records``) gives a ``Trajectory`` instead of a
raw episode, which stop 5 hands to ``passthrough.pass_on``: unchanged, but for what an option asks.

``accounts`` counts what came in and what did not go out (``--report`` measures it beside stop 4); ``mapping`` makes a
format of ``--map``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xskill.lazy import lazily

if TYPE_CHECKING:
    from xskill.canon.canon_face import read

__all__ = [
    "read",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {
            "xskill.canon.canon_face": ("read",),
        },
    )
