"""The tree losses inside trainers: a policy loss for verl, a trainer for TRL.

Both read turn credits from the ``advantages`` that trainers carry anyway, one value a token (``xskill credit --as
verl``), and turns from the ``turn_ids`` beside them. verl's losses see no such ids: :func:`keep_turns_apart` puts them
into the advantages when a batch is made. Without ids a turn is a run of sampled tokens: what the environment says in
between has mask 0. Trainers are imported when these functions are called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from xskill.credit.choices import RATIOS
from xskill.credit.targets import check_radius
from xskill.losses.tree_opsd import tree_opsd_loss
from xskill.losses.tree_pg import tree_pg_loss
from xskill.losses.turns import Ratio, TurnLoss


@dataclass(frozen=True, slots=True)
class Teacher:
    """Choices of the loss."""

    kind: Literal["tree-opsd", "tree-pg"] = "tree-opsd"
    """Bounded targets, or the credits as constant advantages."""
    map: str = "odds"
    radius: float | None = None
    """None = 0.2 with summed ratios, 0.005 with mean ratios."""
    scale: float = 1.0
    ratio: Ratio = "sum"
    clip: float | None = None
    """PPO's clip of ``tree-pg``."""


def keep_turns_apart(advantages: Any, ids: Any) -> Any:
    """Advantages in which neighbouring turns never have the same value, so that they carry the ids of turns.

    The lowest bit of each number becomes the parity of its turn: about one part in ten million of a 32-bit credit, and
    the smallest normal numbers in place of zeros. Call it on the batch that verl trains on, whose policy losses get the
    advantages and no ids; without, two turns of equal credit that touch would count as one.

    Args:
        advantages: [B, T] 32-bit turn credits, one value a token.
        ids: [B, T] turn of each token within its row, 0, 1, 2, …; -1 for none.
    """
    import torch

    if advantages.dtype != torch.float32:
        raise ValueError(f"advantages: expected 32-bit numbers, got {advantages.dtype}")
    tiny = torch.finfo(torch.float32).tiny  # below it are numbers that some devices take for 0
    credit = torch.where((ids >= 0) & (advantages.abs() < tiny), torch.full_like(advantages, tiny), advantages)
    bits = credit.contiguous().view(torch.int32)
    marked = (bits & ~1) | (ids & 1).to(torch.int32)
    return torch.where(ids >= 0, marked, bits).view(torch.float32)


def turn_ids(mask: Any, advantages: Any, ids: Any = None) -> Any:
    """Number of the turn of each token, through the whole batch; -1 where nothing was sampled.

    Args:
        mask: [B, T] 1 for sampled tokens.
        advantages: [B, T] without ids a turn also ends where its value changes (see :func:`keep_turns_apart`).
        ids: [B, T] turn of each token within its row; -1 for none.
    """
    import torch

    if ids is not None:
        sampled = mask.bool() & (ids >= 0)
        width = int(ids.max()) + 1 if ids.numel() else 1
        keys = ids.long() + width * torch.arange(len(ids), device=ids.device).unsqueeze(1)
        given = torch.full_like(keys, -1)
        given[sampled] = torch.unique(keys[sampled], return_inverse=True)[1]
        return given
    sampled = mask.bool()
    begins = sampled.clone()
    begins[:, 1:] &= ~sampled[:, :-1] | (advantages[:, 1:] != advantages[:, :-1])
    numbers = begins.flatten().cumsum(0).reshape(mask.shape) - 1
    return torch.where(sampled, numbers, torch.full_like(numbers, -1))


def per_turn(values: Any, ids: Any, n_turns: int) -> Any:
    """[N] the value that a turn's tokens share."""
    import torch

    counts = ids >= 0
    out: Any = torch.zeros(n_turns, dtype=values.dtype, device=values.device)
    return out.scatter(0, ids[counts], values.expand_as(ids)[counts])


def targets(credits: Any, teacher: Teacher) -> Any:
    """[N] q of each credit, as :func:`xskill.credit.targets.target`, on the tensor's own device."""
    import torch

    radius = RATIOS[teacher.ratio].radius if teacher.radius is None else teacher.radius
    check_radius(teacher.map, radius)
    c = (credits / teacher.scale).clamp(-1, 1)
    if teacher.map == "odds":
        return (1 + radius * c) / (2 + radius * c)
    return 0.5 + radius * c if teacher.map == "probability" else torch.sigmoid(4 * radius * c)


def batch_loss(
    teacher: Teacher, logp_new: Any, logp_old: Any, advantages: Any, mask: Any, weights: Any = None, ids: Any = None
) -> tuple[TurnLoss, Any, Any]:
    """The loss of a padded batch.

    Args:
        teacher: the choices.
        logp_new: [B, T] with gradient.
        logp_old: [B, T].
        advantages: [B, T] turn credits, one value a token.
        mask: [B, T] 1 for sampled tokens.
        weights: [B, T] weights of turns, one value a token; None = 1.
        ids: [B, T] turn of each token within its row, -1 for none; None: see :func:`turn_ids`.

    Returns:
        The loss over turns; the turn ids; the weights of the turns.
    """
    ids = turn_ids(mask, advantages, ids)
    n = int(ids.max()) + 1 if ids.numel() else 0
    credit = per_turn(advantages.to(logp_new.dtype), ids, n)
    weight = None if weights is None else per_turn(weights.to(logp_new.dtype), ids, n)
    if teacher.kind == "tree-pg":
        loss = tree_pg_loss(logp_new, logp_old, ids, credit, weights=weight, ratio=teacher.ratio, clip=teacher.clip)
    else:
        q = targets(credit, teacher)
        loss = tree_opsd_loss(logp_new, logp_old, ids, q, weights=weight, ratio=teacher.ratio)
    return loss, ids, weight


def verl_policy_loss(teacher: Teacher = Teacher()) -> Callable[..., tuple[Any, dict[str, Any]]]:
    """A policy loss with verl's signature (0.9: ``PolicyLossFn`` in ``verl.trainer.ppo.core_algos``).

    Each turn's loss is spread over its tokens, so that verl's aggregation counts turns alike; use
    ``loss_agg_mode: seq-mean-token-sum`` for the mean over rollouts of their turns' sum. ``rollout_is_weights``
    carries the turns' weights (1/k of a shared turn). verl passes no ids of turns: mark the advantages of the batch
    with :func:`keep_turns_apart`; a trainer of your own may give ``turn_ids`` ([B, T], of each row) instead.
    """

    def loss(
        old_log_prob: Any,
        log_prob: Any,
        advantages: Any,
        response_mask: Any,
        loss_agg_mode: str = "seq-mean-token-sum",
        config: Any = None,
        rollout_is_weights: Any = None,
        turn_ids: Any = None,
    ) -> tuple[Any, dict[str, Any]]:
        import torch
        from verl.trainer.ppo.core_algos import agg_loss

        result, ids, weight = batch_loss(
            teacher, log_prob, old_log_prob, advantages, response_mask, rollout_is_weights, turn_ids
        )
        turn = result.per_turn if weight is None else result.per_turn * weight
        tokens = torch.bincount(ids[ids >= 0], minlength=len(turn)).clamp(min=1)
        spread = (turn / tokens)[ids.clamp(min=0)] * (ids >= 0)
        aggregated = agg_loss(
            loss_mat=spread,
            loss_mask=response_mask,
            loss_agg_mode=loss_agg_mode,
            **(config.global_batch_info if config is not None else {}),
        )
        return aggregated, {f"actor/{name}": value for name, value in metrics(result).items()}

    return loss


def register_verl(name: str = "tree_opsd", teacher: Teacher = Teacher()) -> None:
    """Make the loss known to verl as ``actor.policy_loss.loss_mode: NAME``; call it before the trainer starts."""
    from verl.trainer.ppo.core_algos import register_policy_loss

    register_policy_loss(name)(verl_policy_loss(teacher))


def metrics(result: TurnLoss) -> dict[str, float]:
    """What to watch: how far the ratios are, how much residual is left, how many ratios were clamped."""
    moved = result.log_ratio.abs()
    n = max(1, len(moved))
    return {
        "turn_log_ratio": float(moved.sum()) / n,
        "turn_residual": float(result.residual.abs().sum()) / n,
        "turn_clamped": float(result.clamped) / n,
    }


def trl_trainer(teacher: Teacher = Teacher()) -> type[Any]:
    """A subclass of TRL's ``GRPOTrainer`` with this loss (written against 1.16).

    Rows of its dataset that hold ``prompt_ids``, ``completion_ids``, ``advantages``, ``response_mask`` and
    ``old_log_probs`` (lists, all but the first aligned with ``completion_ids``; optional ``rollout_is_weights`` and
    ``turn_ids``) are trained on as they are: credited rollouts from a file. Other rows are sampled by TRL, and its
    advantage of a completion is the credit of its turns.
    """
    import torch
    from trl import GRPOTrainer

    class TreeTrainer(GRPOTrainer):  # type: ignore[misc]
        """``GRPOTrainer`` with the loss of a rollout tree."""

        def _generate_and_score_completions(self, inputs: Any) -> Any:
            if "completion_ids" not in inputs[0]:
                return super()._generate_and_score_completions(inputs)
            return _padded(inputs, self.accelerator.device)

        def _compute_loss(self, model: Any, inputs: Any) -> Any:
            completion, mask = inputs["completion_ids"], inputs["completion_mask"]
            logp, _, _ = self._get_per_token_logps_and_entropies(
                model,
                torch.cat([inputs["prompt_ids"], completion], dim=1),
                torch.cat([inputs["prompt_mask"], mask], dim=1),
                completion.size(1),
            )
            if "tool_mask" in inputs:
                mask = mask * inputs["tool_mask"]
            advantages = inputs["advantages"]
            if advantages.dim() == 1:
                advantages = advantages.unsqueeze(1).expand_as(logp)
            old = inputs.get("old_per_token_logps")
            old = logp.detach() if old is None else old
            result, _, _ = batch_loss(
                teacher, logp, old, advantages, mask, inputs.get("turn_weights"), inputs.get("turn_ids")
            )
            mode = "train" if self.model.training else "eval"
            for name, value in metrics(result).items():
                self._metrics[mode][name].append(value)
            return result.loss / (self.current_gradient_accumulation_steps if mode == "train" else 1.0)

    return TreeTrainer


def _padded(rows: list[dict[str, Any]], device: Any) -> dict[str, Any]:
    """Credited rollouts as the tensors of TRL's ``_generate_and_score_completions``: prompts padded left."""
    import torch

    def pad(name: str, dtype: Any, left: bool = False, default: float | None = None) -> Any:
        lists = [row[name] if name in row else [default] * len(row["completion_ids"]) for row in rows]
        width = max(map(len, lists))
        padded = [[0] * (width - len(x)) + list(x) if left else list(x) + [0] * (width - len(x)) for x in lists]
        return torch.tensor(padded, dtype=dtype, device=device)

    lengths = [len(row["completion_ids"]) for row in rows]
    width = max(lengths)
    prompt_width = max(len(row["prompt_ids"]) for row in rows)
    ones = [[0] * (prompt_width - len(row["prompt_ids"])) + [1] * len(row["prompt_ids"]) for row in rows]
    filled = [[1] * n + [0] * (width - n) for n in lengths]
    mask = pad("response_mask", torch.long, default=1)
    known = {"turn_ids": pad("turn_ids", torch.long)} if all("turn_ids" in row for row in rows) else {}
    return {
        **known,
        "prompt_ids": pad("prompt_ids", torch.long, left=True),
        "prompt_mask": torch.tensor(ones, device=device),
        "completion_ids": pad("completion_ids", torch.long),
        "completion_mask": torch.tensor(filled, device=device),
        "tool_mask": mask,
        "advantages": pad("advantages", torch.float32),
        "old_per_token_logps": pad("old_log_probs", torch.float32),
        "turn_weights": pad("rollout_is_weights", torch.float32, default=1.0),
        "num_items_in_batch": mask.sum(),
    }
