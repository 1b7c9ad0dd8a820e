from __future__ import annotations

import copy

import pytest
import torch
from torch.func import functional_call, grad, vmap

from discreet.models.activations import TemperedSigmoid

INPUTS = torch.linspace(-3, 3, 13, dtype=torch.float64)


def test_the_tempered_sigmoid_of_the_paper_is_tanh() -> None:
    torch.testing.assert_close(TemperedSigmoid()(INPUTS), torch.tanh(INPUTS))
    torch.testing.assert_close(TemperedSigmoid(1.0, 1.0, 0.0)(INPUTS), torch.sigmoid(INPUTS))


@pytest.mark.parametrize("settings", [(2.0, 2.0, 1.0), (1.5, 3.0, 0.25)])
def test_its_gradient_is_the_derivative(settings: tuple[float, float, float]) -> None:
    inputs = INPUTS.clone().requires_grad_()
    assert torch.autograd.gradcheck(TemperedSigmoid(*settings), (inputs,))


def test_float32_differs_from_tanh_by_rounding_only() -> None:
    inputs = torch.linspace(-20, 20, 4001)
    error = (TemperedSigmoid()(inputs).double() - torch.tanh(inputs.double())).abs().max()
    assert float(error) < 3e-7


def test_it_runs_record_by_record_and_can_be_copied() -> None:
    model = copy.deepcopy(torch.nn.Sequential(torch.nn.Linear(3, 2), TemperedSigmoid()))
    params = {name: param.detach() for name, param in model.named_parameters()}
    records = torch.rand(5, 3)

    def total(values: dict[str, torch.Tensor], record: torch.Tensor) -> torch.Tensor:
        return functional_call(model, values, (record[None],)).sum()

    found = vmap(grad(total), in_dims=(None, 0))(params, records)["0.weight"]
    for record, gradient in zip(records, found, strict=True):
        model.zero_grad()
        model(record[None]).sum().backward()
        torch.testing.assert_close(gradient, model[0].weight.grad)
