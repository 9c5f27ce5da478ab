"""Writes this folder's models and what PyTorch computes of them: PyTorch's own exports of small networks with random
weights.

Needs torch, torchvision, transformers and onnxscript: python test/data/onnx/make.py. Names tell the network, the
exporter (script: TorchScript; dynamo) and the version of ONNX's operators. All sizes of a batch, and of a text's
length, are left open but for whisper's.
"""

import warnings
from pathlib import Path

import numpy as np
import onnx
import torch
from torchvision.models.resnet import BasicBlock
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    ViTConfig,
    ViTModel,
    WhisperConfig,
    WhisperModel,
)

HERE = Path(__file__).parent
ONE = {
    "num_hidden_layers": 1,
    "hidden_size": 8,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "attn_implementation": "sdpa",
}
LARGEST = 30_000  # bytes of a file


class Of(torch.nn.Module):
    """A network of transformers as a function of tensors."""

    def __init__(self, net, names, result):
        super().__init__()
        self.net, self.names, self.result = net, names, result

    def forward(self, *given):
        return getattr(self.net(**dict(zip(self.names, given)), return_dict=True), self.result)


def resnet():
    """The steps of ResNet-18, narrow."""
    first = (
        torch.nn.Conv2d(3, 4, 7, 2, 3, bias=False),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(3, 2, 1),
    )
    side = torch.nn.Sequential(torch.nn.Conv2d(4, 6, 1, 2, bias=False), torch.nn.BatchNorm2d(6))
    net = torch.nn.Sequential(
        *first,
        BasicBlock(4, 4),
        BasicBlock(4, 6, 2, side),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(1),
        torch.nn.Linear(6, 5),
    )
    return net, [torch.randn(2, 3, 16, 16)], ["batch"]


def bert():
    mask = torch.ones(2, 7, dtype=torch.long)
    mask[1, 4:] = 0
    net = BertModel(BertConfig(vocab_size=20, max_position_embeddings=16, **ONE), add_pooling_layer=False)
    return (
        Of(net, ["input_ids", "attention_mask"], "last_hidden_state"),
        [torch.randint(0, 20, (2, 7)), mask],
        ["batch", "length"],
    )


def gpt2():
    config = GPT2Config(
        vocab_size=20, n_embd=8, n_layer=1, n_head=2, n_positions=16, use_cache=False, attn_implementation="sdpa"
    )
    return Of(GPT2LMHeadModel(config), ["input_ids"], "logits"), [torch.randint(0, 20, (2, 7))], ["batch", "length"]


def whisper():
    parts = {
        f"{side}_{what}": n
        for side in ("encoder", "decoder")
        for what, n in {"layers": 1, "attention_heads": 2, "ffn_dim": 12}.items()
    }
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    config = WhisperConfig(
        vocab_size=9,
        num_mel_bins=6,
        d_model=8,
        max_source_positions=10,
        max_target_positions=8,
        attn_implementation="sdpa",
        **parts,
        **tokens,
    )
    return Of(WhisperModel(config).encoder, ["input_features"], "last_hidden_state"), [torch.randn(2, 6, 20)], ["batch"]


def vit():
    return (
        Of(
            ViTModel(ViTConfig(image_size=8, patch_size=4, **ONE), add_pooling_layer=False),
            ["pixel_values"],
            "last_hidden_state",
        ),
        [torch.randn(2, 3, 8, 8)],
        ["batch"],
    )


class Mixed(torch.nn.Module):
    """Much that exporters write in ways of their own."""

    def __init__(self):
        super().__init__()
        self.conv, self.group, self.line, self.norm = (
            torch.nn.Conv2d(3, 4, 3, padding=1),
            torch.nn.GroupNorm(2, 4),
            torch.nn.Linear(4, 4),
            torch.nn.LayerNorm(4),
        )

    def forward(self, x):
        F = torch.nn.functional
        y = F.gelu(self.group(self.conv(x)), approximate="tanh")
        y = F.adaptive_avg_pool2d(
            F.interpolate(y, scale_factor=2, mode="nearest")
            + F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False),
            (2, 2),
        )
        z = self.norm(self.line(y.permute(0, 2, 3, 1).reshape(y.shape[0], -1, 4)))
        k = torch.arange(z.shape[1])
        a = (torch.einsum("bid,bjd->bij", z, z) + torch.where(k[:, None] >= k[None], 0.0, float("-inf"))).softmax(
            -1
        ) @ z
        a = torch.cat([a[:, ::2], a[:, 1:].clone()], 1)
        a[:, 0] = 1.0
        q, v = a.chunk(2, -1)
        most, at = torch.topk(v, 2, -1)
        return (
            q.masked_fill(v > 0.5, -2.0) * most + torch.clamp(v, min=0),
            at,
            (v > 0).any(-1),
            F.silu(v).std(1),
            v.argmax(1),
            torch.cumsum(v, 1),
        )


def mixed():
    return Mixed(), [torch.randn(2, 3, 8, 8)], ["batch"]


EXPORTS = [(resnet, "script", 13), (resnet, "dynamo", 18), (bert, "script", 17), (bert, "dynamo", 18),
    (gpt2, "dynamo", 18), (gpt2, "dynamo", 23), (whisper, "script", 17), (whisper, "dynamo", 23), (vit, "script", 14),
    (vit, "dynamo", 23), (mixed, "script", 13), (mixed, "dynamo", 18)]  # fmt: skip


def export(net, given, axes, exporter, version, path):
    names = [f"in{i}" for i in range(len(given))]
    if exporter == "script":
        torch.onnx.export(
            net,
            tuple(given),
            path,
            opset_version=version,
            input_names=names,
            dynamo=False,
            dynamic_axes={n: dict(enumerate(axes)) for n in names},
        )
    else:
        sizes = {i: torch.export.Dim(name, max=16) for i, name in enumerate(axes)}
        shapes = [sizes] * len(given)
        torch.onnx.export(
            net,
            tuple(given),
            path,
            opset_version=version,
            input_names=names,
            dynamo=True,
            verbose=False,
            external_data=False,
            dynamic_shapes=(tuple(shapes),) if isinstance(net, Of) else tuple(shapes),
        )
    proto = onnx.load(path)
    del proto.metadata_props[:], proto.graph.value_info[:], proto.graph.metadata_props[:]
    proto.producer_version = proto.graph.doc_string = ""
    for part in (*proto.graph.node, *proto.graph.initializer, *proto.graph.input, *proto.graph.output):
        del part.metadata_props[:]
        part.doc_string = ""
    # Short names, for small files.
    known = {row.name: row.name for row in (*proto.graph.input, *proto.graph.output)} | {"": ""}
    for i, node in enumerate(proto.graph.node):
        node.name = f"n{i}"
        for names in (node.input, node.output):
            names[:] = [known.setdefault(name, f"v{len(known)}") for name in names]
    for row in proto.graph.initializer:
        row.name = known.setdefault(row.name, f"v{len(known)}")
    onnx.save(proto, path)


def main():
    warnings.simplefilter("ignore")
    for make, exporter, version in EXPORTS:
        torch.manual_seed(3)
        net, given, axes = make()
        net.eval()
        for buffer in net.buffers():  # running means and variances that say something
            if buffer.dtype.is_floating_point:
                buffer.uniform_(0.5, 1.5)
        path = HERE / f"{make.__name__}_{exporter}_{version}.onnx"
        with torch.no_grad():
            export(net, given, axes, exporter, version, path)
            arrays = {f"in{i}": x for i, x in enumerate(given)}
            sets = (
                [given]
                if make is mixed
                else [given, [x[:1, :5] if "length" in axes else torch.cat([x, x.flip(0)[:1]]) for x in given]]
            )
            for k, some in enumerate(sets):
                wanted = net(*some)
                arrays |= {f"in{i}" if k == 0 else f"other_in{i}": x for i, x in enumerate(some)}
                arrays |= {
                    f"out{i}" if k == 0 else f"other_out{i}": x
                    for i, x in enumerate(wanted if isinstance(wanted, tuple) else (wanted,))
                }
        np.savez_compressed(path.with_suffix(".npz"), **{name: x.numpy() for name, x in arrays.items()})
        print(path.name, path.stat().st_size, path.with_suffix(".npz").stat().st_size)
        assert path.stat().st_size < LARGEST


if __name__ == "__main__":
    main()
