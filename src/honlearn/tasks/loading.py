"""What a saved model's config says, checked: parameters, classes, tables; and a bound on what is built of it.

In: the fields of ``config.json``. Out: values that a constructor and NumPy can take. The numbers of a config
decide how much memory a model takes, so nothing is built that is much larger than the weights beside it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.overrides import TorchFunctionMode

from honlearn.errors import FormatError, HonlearnError
from honlearn.hon.network import HigherOrderNetwork
from honlearn.stored import Fields, shown
from honlearn.tasks.storage import ADVICE, unplain

if TYPE_CHECKING:
    import pandas

# Numbers that a model may hold beside its weights and its network.
_SPARE = 2**22
# What makes a tensor of a size that is asked for.
_MAKERS = frozenset(
    f"{new}{name}" for name in ("empty", "zeros", "ones", "full", "rand", "randn") for new in ("", "new_")
) | {"empty_strided"}
# The dtypes of classes that are numbers, as NumPy names them.
_NUMBERS = re.compile(r"\|b1|[<>=|]?[iu][1248]|[<>=]?f[248]")


def read_parameters(config: Fields, model: type, left_out: Collection[str]) -> dict[str, Any]:
    """Return the parameters of a model; those that are never saved are refused."""
    fields = config.mapping("parameters")
    fields.only(*(name for name in model._get_param_names() if name not in left_out))  # type: ignore[attr-defined]
    return {name: unplain(value, f"{fields.where}: {name!r}") for name, value in fields.values.items()}


def read_classes(config: Fields) -> NDArray[Any]:
    """Return the classes: texts, or numbers of the dtype that is named; ascending."""
    fields = config.mapping("classes")
    name = fields.text("dtype")
    kind = name.lstrip("<>|=")[:1] if _NUMBERS.fullmatch(name) else name
    found: NDArray[Any]
    if kind == "str":
        found = np.array(fields.texts("values"), "str")
    elif kind == "b" and all(isinstance(value, bool) for value in fields.items("values")):
        found = np.array(fields.items("values"), name)
    elif kind in ("i", "u"):
        info = np.iinfo(name)
        found = np.array(fields.integers("values", int(info.min), int(info.max)), name)
    elif kind == "f":
        found = np.array(fields.numbers("values"), name)
    else:
        raise FormatError(
            f"{fields.where}: 'dtype' must be text or numbers. Got {shown(name)} instead; {ADVICE}"
        )
    if not len(found) or not np.array_equal(np.unique(found), found):
        raise FormatError(
            f"{fields.where}: 'values' must be ascending. Got {shown(found.tolist())}; {ADVICE}"
        )
    return found


def read_table(config: Fields, key: str, numbers: Collection[str] = ()) -> pandas.DataFrame:
    """Return a table of texts and numbers; the columns named in `numbers` hold nothing else."""
    import pandas as pd

    rows = config.mappings(key)
    for row in rows:
        for name, value in row.values.items():
            plain = value is None or isinstance(value, (int, float) if name in numbers else (int, float, str))
            if not plain or (isinstance(value, int) and abs(value) >= 2**63):
                what = "a number" if name in numbers else "a number or text"
                raise FormatError(
                    f"{row.where}: {name!r} must be {what}. Got {shown(value)} instead; {ADVICE}"
                )
    table = pd.DataFrame([dict(row.values) for row in rows])
    # A column of nothing but null does not tell that it held numbers.
    return table.astype(dict.fromkeys(set(numbers) & set(table.columns), float))


@contextmanager
def built_from(
    folder: object, tensors: Mapping[str, torch.Tensor], network: HigherOrderNetwork
) -> Iterator[None]:
    """Build a model inside the block: in bounded memory, and what its checks refuse names the folder."""
    held = sum(tensor.numel() for tensor in tensors.values())
    most = 4 * (held + network.n_nodes + network.n_edges) + _SPARE
    try:
        with _Bounded(most):
            yield
    except HonlearnError as error:
        text = str(error)
        raise FormatError(text if text.startswith(str(folder)) else f"{folder}: {text}") from None
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        said = " ".join(str(error).split())[:300]
        raise FormatError(f"{folder}: config and weights do not belong together ({said})") from None


class _Bounded(TorchFunctionMode):
    """Refuses to make tensors of more numbers than `most` in all."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.left = most

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        size = _size_asked(func, args, kwargs or {})
        self.left -= math.prod(size)
        if self.left < 0:
            raise FormatError(f"a tensor of {shown(list(size))} numbers does not belong to these weights")
        return func(*args, **(kwargs or {}))


def _size_asked(func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Sequence[int]:
    """Return the size of the tensor that a call is to make; (0,) for calls that take no size.

    A size is the first argument (of a method: the one after the tensor), as one sequence or spelt out.
    """
    if getattr(func, "__name__", "") not in _MAKERS:
        return (0,)
    given = args[1:] if args and isinstance(args[0], torch.Tensor) else args
    size = kwargs.get("size", given[0] if given and not isinstance(given[0], int) else given)
    return size if all(isinstance(n, int) for n in size) else (0,)


def check_probabilities(values: NDArray[Any], name: str) -> None:
    """Raise unless these are class probabilities, [..., C]."""
    outside = values.min(initial=0) < 0 or values.max(initial=0) > 1.001
    if outside or (np.abs(values.sum(-1, dtype=np.float64) - 1) > 1e-3).any():
        raise FormatError(f"{name!r} holds no probabilities; {ADVICE}")


def check_types(tensors: Mapping[str, torch.Tensor], module: torch.nn.Module) -> None:
    """Raise where tensors are of other types than those of the module, which would take them rounded."""
    for name, own in module.state_dict().items():
        if name in tensors and tensors[name].dtype != own.dtype:
            raise FormatError(f"{name!r} must be {own.dtype}. Got {tensors[name].dtype} instead; {ADVICE}")
