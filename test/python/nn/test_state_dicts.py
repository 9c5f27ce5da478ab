"""load_state_dict of modules, optimisers and loss scalers: everything or nothing."""

import numpy as np
import pytest
import strata
from strata import Tensor, nn, optim


def module():
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm(3), nn.Linear(3, 1))


def stepped(kind):
    w, v = Tensor([1.0, 2.0]).requires_grad_(), Tensor([[3.0], [4.0]]).requires_grad_()
    step = kind([w, v])
    ((w * w).sum() + (v * v).sum()).backward()
    step()
    return step


LOADED = {
    "Module": module,
    **{kind.__name__: lambda kind=kind: stepped(kind) for kind in (optim.Adam, optim.AdamW, optim.Lamb, optim.Muon)},
    "SGD": lambda: stepped(lambda parameters: optim.SGD(parameters, momentum=0.5)),
    "LossScaler": lambda: optim.LossScaler(8.0),
}
WRONG = {
    "another shape": lambda t: Tensor.ones((7, 3)),
    "a complex value": lambda t: Tensor(np.ones(t.shape, np.complex64)),
    "a text": lambda t: "x",
    "nothing": lambda t: None,
    "an object": lambda t: object(),
}


def values(state):
    return {name: value.numpy() if isinstance(value, Tensor) else value for name, value in state.items()}


@pytest.mark.parametrize("name", LOADED)
def test_what_does_not_fit_changes_nothing(name):
    owner = LOADED[name]()
    before, state = values(owner.state_dict()), owner.state_dict()
    for at in state:
        for wrong in WRONG.values():
            other = {k: v * 2 if isinstance(v, Tensor) and v.dtype.is_float else v for k, v in state.items()}
            other[at] = wrong(state[at]) if isinstance(state[at], Tensor) else "x"
            with pytest.raises(strata.Error):
                owner.load_state_dict(other)
            np.testing.assert_equal(values(owner.state_dict()), before)
        for odd in ({k: v for k, v in state.items() if k != at}, {**state, "more": Tensor([1.0])}, None, 5, [1]):
            with pytest.raises(strata.UsageError):
                owner.load_state_dict(odd)
            np.testing.assert_equal(values(owner.state_dict()), before)
    owner.load_state_dict({k: v * 2 if isinstance(v, Tensor) else v + 1 for k, v in state.items()})
    np.testing.assert_equal(
        values(owner.state_dict()), {k: v * 2 if isinstance(v, np.ndarray) else v + 1 for k, v in before.items()}
    )


def test_two_tensors_of_one_name_are_refused():
    class Own(nn.Module):
        def __init__(self, where):
            self.a = {"b": Tensor([1.0])}
            where(self)

    for where in (
        lambda self: setattr(self, "a.b", Tensor([2.0])),
        lambda self: self.a.update({"x.0": Tensor([1.0]), "x": [Tensor([2.0])]}),
        lambda self: self.a.update({1: Tensor([1.0]), "1": Tensor([2.0])}),
    ):
        with pytest.raises(strata.UsageError, match="two tensors are called '.*': give an attribute"):
            Own(where).state_dict()


def test_containers_that_hold_themselves_have_an_end():
    class Own(nn.Module):
        def __init__(self):
            self.parts, self.table = [nn.Linear(1, 1)], {}
            self.parts.append(self.parts)
            self.table.update(itself=self.table, parts=(self.parts, [self]))
            self.me = self

    own = Own()
    assert [name for name, _ in own.named_parameters()] == ["parts.0.weight", "parts.0.bias"]
    assert (
        own.state_dict().keys() == {"parts.0.weight", "parts.0.bias"}
        and len(own.modules()) == 2
        and "Linear(1, 1)" in repr(own)
    )
    wide = [Tensor([1.0]).requires_grad_()]
    for _ in range(60):
        wide = [wide, wide]
    own.parts = wide
    assert len(own.parameters()) == 3
