"""The pooling of learners against the paper's equations, written out for one node at a time."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from honlearn.ensemble.heads import AttentionHead, BagHead, ConcatHead, PoolHead

L, B, D, C = 3, 5, 8, 4


def generators(count: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed) for seed in range(count)]


def representations() -> torch.Tensor:
    return torch.randn(L, B, D, generator=torch.Generator().manual_seed(42))


def test_concat_is_equation_5a() -> None:
    h, head = representations(), ConcatHead(L, D, C, generators(1))
    assert head.weight.shape == (1, L * D, C)
    for u in range(B):
        whole = torch.cat([h[i, u] for i in range(L)])
        torch.testing.assert_close(head(h)[0, u], whole @ head.weight[0] + head.bias[0])


def test_pool_is_equation_5b() -> None:
    h, head = representations(), PoolHead(L, D, C, generators(1))
    for u in range(B):
        mean = sum(h[i, u] for i in range(L)) / L
        torch.testing.assert_close(head(h)[0, u], mean @ head.weight[0] + head.bias[0])


def test_bag_is_equation_5c() -> None:
    h, head = representations(), BagHead(L, D, C, generators(L))
    for i in range(L):
        torch.testing.assert_close(head(h)[i], h[i] @ head.weight[i] + head.bias[i])


def test_attention_is_the_appendix() -> None:
    h, head = representations(), AttentionHead(L, D, C, generators(1), n_heads=2).eval()
    leaky = lambda x: F.leaky_relu(x, 0.3)  # noqa: E731
    assert head.project.shape == (2, D, 2 * D)
    for u in range(B):
        heads = []
        for n in range(2):
            projected = [h[i, u] @ head.project[n] for i in range(L)]
            a_i, a_j = head.score_i[n, :, 0], head.score_j[n, :, 0]
            e = torch.stack([torch.stack([leaky(x @ a_i + y @ a_j) for y in projected]) for x in projected])
            alpha = e.exp() / e.exp().sum(1, keepdim=True)
            heads.append(torch.cat([sum(alpha[i, j] * projected[j] for i in range(L)) for j in range(L)]))
        mixed = leaky(torch.stack(heads).mean(0))
        narrow = mixed @ head.dense[0] + head.dense_bias[0]
        assert narrow.shape == (D // 4,)
        expected = leaky(head.normalize(narrow[None])[0]) @ head.weight[0] + head.bias[0]
        torch.testing.assert_close(head(h)[0, u], expected, rtol=1e-5, atol=1e-6)


def test_attention_trains_on_a_single_row() -> None:
    head = AttentionHead(L, D, C, generators(1)).train()
    assert torch.isfinite(head(representations()[:, :1])).all()
