"""The X-Tree miner as one reads it in the specification: recount everything for each merge."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from xskill.mine.rules import MineRules
from xskill.records import Episode

Symbol = str


def own_actions(episode: Episode) -> list[str]:
    if episode.parent is None:
        return list(episode.actions)
    first = episode.parent.turn if episode.parent.step is None else episode.parent.step
    return list(episode.actions[max(first, 0) :])


def pair_positions(sequence: list[Symbol], self_pairs: str) -> list[tuple[tuple[Symbol, Symbol], int]]:
    """``a a a`` → (a, a) at 0 and 1 overlapping, at 0 disjoint."""
    found, previous = [], None
    for position in range(len(sequence) - 1):
        pair = (sequence[position], sequence[position + 1])
        overlaps = pair[0] == pair[1] and previous == (pair, position - 1)
        if overlaps and self_pairs == "disjoint":
            continue
        found.append((pair, position))
        previous = (pair, position)
    return found


def by_task_type(types: list[str]) -> dict[str, list[Any]]:
    """Distinct types, and how many of each."""
    return {"task_types": sorted(set(types)), "task_type_episodes": [types.count(kind) for kind in sorted(set(types))]}


def merge(sequence: list[Symbol], pair: tuple[Symbol, Symbol], new: Symbol) -> tuple[list[Symbol], int]:
    """``a b a b c``, (a, b) → S0 S0 c, 2 replacements."""
    merged, position, count = [], 0, 0
    while position < len(sequence):
        if tuple(sequence[position : position + 2]) == pair:
            merged.append(new)
            position, count = position + 2, count + 1
        else:
            merged.append(sequence[position])
            position += 1
    return merged, count


def mine(episodes: list[Episode], rules: MineRules) -> tuple[list[dict[str, Any]], list[list[Symbol]]]:
    """Nodes with every field that the miner defines, and the tiling of each episode."""
    sequences = [own_actions(episode) for episode in episodes]
    good_outcome = rules.outcome == "success"
    known = [episode for episode in episodes if episode.success is not None]
    n_good = sum(episode.success is good_outcome for episode in known)
    tells = any(episode.success is False for episode in known) or len(known) < len(episodes)
    expansion: dict[Symbol, list[str]] = defaultdict(list)
    depth: dict[Symbol, int] = defaultdict(int)
    for sequence in sequences:
        for token in sequence:
            expansion[token] = [token]
    nodes: list[dict[str, Any]] = []

    def counted(episode: Episode) -> bool:
        return episode.success is True if rules.successes_only else True

    while len(nodes) < rules.max_skills:
        frequency: Counter[tuple[Symbol, Symbol]] = Counter()
        outcomes: dict[tuple[Symbol, Symbol], Counter[bool | None]] = defaultdict(Counter)
        families: dict[tuple[Symbol, Symbol], set[str]] = defaultdict(set)
        for episode, sequence in zip(episodes, sequences, strict=True):
            if not counted(episode):
                continue
            for pair, _ in pair_positions(sequence, rules.self_pairs):
                frequency[pair] += 1
                outcomes[pair][episode.success] += 1
                if episode.task_type is not None:
                    families[pair].add(episode.task_type)
        best = None
        for (u, v), f in frequency.items():
            length = len(expansion[u]) + len(expansion[v])
            with_outcome = outcomes[u, v][True] + outcomes[u, v][False]
            if rules.successes_only or not known or n_good == len(known):
                rate = 1.0
            elif with_outcome:
                rate = outcomes[u, v][good_outcome] / with_outcome
            else:
                rate = n_good / len(known)
            if (
                f < rules.min_frequency
                or length > rules.max_length
                or not f - 1 > rules.eta * length
                or rate < rules.min_success_rate
                or rate <= 0
                or (rules.min_families > 1 and len(families[u, v]) < rules.min_families)
            ):
                continue
            score = float(f"{f * length**rules.p_length * (rate + rules.epsilon) ** rules.p_success:.11e}")
            born = [int(symbol[1:]) if symbol[:1] == "S" else -1 for symbol in (u, v)]
            key = (-score, -f, expansion[u], expansion[v], born)
            if best is None or key < best[0]:
                best = (key, (u, v), f, score, rate)
        if best is None:
            break
        _, pair, f, score, rate = best
        new = f"S{len(nodes)}"
        expansion[new] = expansion[pair[0]] + expansion[pair[1]]
        depth[new] = 1 + max(depth[pair[0]], depth[pair[1]])
        count: Counter[bool | None] = Counter()
        holders = []
        for index, episode in enumerate(episodes):
            sequences[index], replaced = merge(sequences[index], pair, new)
            if replaced:
                holders.append(episode)
                if counted(episode):
                    count[episode.success] += replaced
        replaced_known = count[True] + count[False]
        nodes.append(
            {
                "id": new,
                "children": pair,
                "depth": depth[new],
                "length": len(expansion[new]),
                "expansion": expansion[new],
                "count": sum(count.values()),
                "success": count[True] / replaced_known
                if replaced_known and tells and not rules.successes_only
                else None,
                "frequency": f,
                "score": score,
                "outcome_rate": rate if rules.outcome == "failure" else None,
                "episodes": len(holders),
                "episodes_known": sum(episode.success is not None for episode in holders),
                "episodes_success": sum(episode.success is True for episode in holders),
                **by_task_type([e.task_type for e in holders if e.task_type is not None and counted(e)]),
            }
        )
    for node in nodes:
        node["tiles"] = sum(sequence.count(node["id"]) for sequence in sequences)
        node["tiles_success"] = sum(
            sequence.count(node["id"]) for e, sequence in zip(episodes, sequences, strict=True) if e.success
        )
    return nodes, sequences
