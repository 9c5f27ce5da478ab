"""Layers, losses and initial values of neural networks; strata.functional has what layers are made of, nn.functional
the same by the names and arguments of torch.nn.functional.

    from strata import nn, optim
    net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    step = optim.Adam(net.parameters())
"""

import sys as _sys

from .. import _names
from ..functional import embedding, layernorm, linear, rmsnorm, scaled_dot_product_attention
from . import functional, init, losses
from .activations import *  # noqa: F403
from .attention import KVCache, MultiheadAttention, rotary, rotary_embedding
from .convolution import (
    AvgPool,
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    MaxPool,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
)
from .layers import Dropout, Embedding, Flatten, Identity, Linear, Sequential
from .losses import cross_entropy
from .module import Module
from .norms import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RMSNorm
from .recurrent import GRU, LSTM

__getattr__ = _names("strata.nn", _sys.modules[__name__], "NN")
BatchNorm1d = BatchNorm2d = BatchNorm3d = BatchNorm  # of any number of axes
InstanceNorm1d = InstanceNorm2d = InstanceNorm3d = InstanceNorm
