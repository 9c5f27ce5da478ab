"""The rows of `strata bench programs` that are whole models of a few layers, and their training and decoding steps."""

from .program_rows import (
    BF16,
    F16,
    F32,
    Program,
    adamw,
    batch_norm,
    conv3x3,
    grouped,
    heads,
    joined,
    residual_block,
    sizes,
    untouched,
)

# GPT: learned positions, LayerNorm, biases. In operands `e` is the width of a head, h their number.

GPT_HALF = ("h*e", "h*e", "h*e 3*h*e", "3*h*e", "h*e h*e", "h*e")
GPT_LAYER = (*GPT_HALF, "h*e", "h*e", "h*e 4*h*e", "4*h*e", "4*h*e h*e", "h*e")


def attended(o, qkv, b, t, e):
    """Causal attention of what one product gave for queries, keys and values of heads of width e."""
    width = qkv.shape[-1] // 3
    q, k, v = (heads(qkv[..., i * width : (i + 1) * width].reshape(b, t, width), width // e) for i in range(3))
    return joined(o.attention(q, k, v, causal=True)).reshape(b * t, width)


def gpt_layer(o, x, layer, attend):
    w1, b1, qkv, qkv_bias, out, out_bias, w2, b2, up, up_bias, down, down_bias = layer
    x = x + attend(o.layernorm(x, w1, b1) @ qkv + qkv_bias) @ out + out_bias
    return x + o.gelu(o.layernorm(x, w2, b2) @ up + up_bias) @ down + down_bias


def width_of_heads(width):
    return 64 if width % 64 == 0 else 8


def gpt_layers(o, x, words, layers, weight, bias):
    """Logits (b * t, v) of x (b, t, d)."""
    b, t, d = x.shape
    x = x.reshape(b * t, d)
    for i in range(0, len(layers), len(GPT_LAYER)):
        x = gpt_layer(o, x, layers[i : i + len(GPT_LAYER)], lambda qkv: attended(o, qkv, b, t, width_of_heads(d)))
    return o.layernorm(x, weight, bias) @ words.mT


def layers_with_gradients(o, *operands):
    """The loss of what follows the embedding, and its gradients."""
    *leaves, targets = operands
    x, words, *layers, weight, bias = leaves
    loss = o.cross_entropy(o.float32(gpt_layers(o, x, words, layers, weight, bias)), targets)
    return [loss, *o.gradients(loss, leaves)]


def layers_operands(layers, **_):
    return ", ".join(["b t h*e", "v h*e", *GPT_LAYER * layers, "h*e", "h*e", "int64 b*t <v"])


def gpt_shapes(layers, **_):
    return ["v h*e", "t h*e", *GPT_LAYER * layers, "h*e", "h*e"]


def gpt_training(o, *operands):
    """A step of AdamW: the loss, and all that it changes."""
    *operands, ids, targets = operands
    n = len(operands) // 3
    parameters, m, v = operands[:n], operands[n : 2 * n], operands[2 * n :]
    words, places, *layers, weight, bias = parameters
    logits = gpt_layers(o, o.embedding(ids, words) + places, words, layers, weight, bias)
    loss = o.cross_entropy(o.float32(logits), targets.reshape(logits.shape[0]))
    changed = [adamw(o, *each) for each in zip(parameters, o.gradients(loss, parameters), m, v, strict=True)]
    return [loss, *(tensor for each in changed for tensor in each)]


def training_operands(**s):
    shapes = gpt_shapes(**s)
    moments = [*("float32 " + shape for shape in shapes), *("float32 + " + shape for shape in shapes)]
    return ", ".join([*shapes, *moments, "int64 b t <v", "int64 b t <v"])


def gpt_operations(b, t, h, e, v, layers):
    """Operations of the forward pass."""
    d = h * e
    return b * t * (layers * (24 * d * d + 2 * t * d) + 2 * d * v)


def training_kept(b, t, h, e, v, layers):
    """Gradients, 17 values a column of a layer, and the logits."""
    d = h * e
    return v * d + t * d + layers * 12 * d * d + 17 * layers * b * t * d + b * t * v


def gpt_decode(o, *operands):
    """Logits of the next token of each sequence; its keys and values stand in the caches (b, h, n, e)."""
    *parameters, keys, values, ids = operands
    (b, h, n, e), (words, places, *layers, weight, bias) = keys.shape[1:], parameters
    x, caches = o.embedding(ids, words) + places[n - 1], []

    def attend(qkv, i):
        q, k, v = (qkv[:, j * h * e : (j + 1) * h * e].reshape(b, h, 1, e) for j in range(3))
        k, v = (o.cat([cache[i][:, :, : n - 1], new], 2) for cache, new in ((keys, k), (values, v)))
        caches.extend((k[:, :, n - 1 :], v[:, :, n - 1 :]))
        return o.attention(q, k, v).reshape(b, h * e)

    for i in range(len(layers) // len(GPT_LAYER)):
        layer = layers[i * len(GPT_LAYER) : (i + 1) * len(GPT_LAYER)]
        x = gpt_layer(o, x, layer, lambda qkv, i=i: attend(qkv, i))
    return [o.layernorm(x, weight, bias) @ words.mT, *caches]


def gpt_decode_operands(layers, **s):
    shapes = [shape.replace("t h*e", "n h*e") for shape in gpt_shapes(layers)]
    return ", ".join([*shapes, *["layers b h n e"] * 2, "int64 b <v"])


# Llama: RMSNorm, SwiGLU, grouped heads. Its caches are (b, g, n, e), and a step writes into them.

LLAMA_LAYER = ("h*e", "h*e h*e", "h*e g*e", "h*e g*e", "h*e h*e", "h*e", "h*e f", "h*e f", "f h*e")


def llama_layer(o, x, layer, attend):
    norm, q, k, v, out, after, gate, up, down = layer
    y = o.rmsnorm(x, norm)
    x = x + attend(y @ q, y @ k, y @ v) @ out
    y = o.rmsnorm(x, after)
    return x + (o.silu(y @ gate) * (y @ up)) @ down


def llama_prefill(o, words, *operands):
    *layers, weight, ids = operands
    (b, t), e = ids.shape, layers[0].shape[0] // 4

    def attend(q, k, v):
        q, k, v = (heads(y.reshape(b, t, y.shape[-1]), y.shape[-1] // e) for y in (q, k, v))
        return joined(grouped(o, q, k, v, True)).reshape(b * t, 4 * e)

    x = o.embedding(ids, words).reshape(b * t, words.shape[1])
    for i in range(0, len(layers), len(LLAMA_LAYER)):
        x = llama_layer(o, x, layers[i : i + len(LLAMA_LAYER)], attend)
    return o.rmsnorm(x, weight).reshape(b, t, 4 * e)[:, t - 1] @ words.mT


def llama_decode(o, words, *operands):
    """Logits of the next token, and the caches with its keys and values."""
    *operands, ids = operands
    count = len(operands) // (len(LLAMA_LAYER) + 2)
    layers, weight, caches = operands[: count * len(LLAMA_LAYER)], operands[-2 * count - 1], operands[-2 * count :]
    (b, g, n, e), x = caches[0].shape, o.embedding(ids, words)

    def attend(q, k, v, i):
        for at, new in ((2 * i, k), (2 * i + 1, v)):
            caches[at] = o.write(caches[at], n - 1, new.reshape(b, g, 1, e))
        q = q.reshape(b, q.shape[-1] // e, 1, e)
        return grouped(o, q, *caches[2 * i : 2 * i + 2]).reshape(b, q.shape[1] * e)

    for i in range(count):
        layer = layers[i * len(LLAMA_LAYER) : (i + 1) * len(LLAMA_LAYER)]
        x = llama_layer(o, x, layer, lambda q, k, v, i=i: attend(q, k, v, i))
    return [o.rmsnorm(x, weight) @ words.mT, *caches]


def llama_operands(layers, ids, caches=0, **_):
    return ", ".join(["v h*e", *LLAMA_LAYER * layers, "h*e", *["b g n e"] * caches, ids])


def llama_operations(b, h, g, e, f, v, layers, t=1, n=0):
    d = h * e
    each = 2 * d * (2 * d + 2 * g * e + 3 * f) + 4 * d * (n or t / 2)
    return b * t * layers * each + b * 2 * d * v


# Whisper's encoder, a mixture of experts, a small ResNet.


def whisper_encoder(o, sound, first, second, places, *layers):
    """Two convolutions over time, then layers without a mask."""
    x = o.gelu(o.conv1d(o.gelu(o.conv1d(sound, first)), second)).mT + places
    b, t, d = x.shape
    x = x.reshape(b * t, d)

    def attend(qkv):
        q, k, v = (heads(qkv[:, i * d : (i + 1) * d].reshape(b, t, d), d // width_of_heads(d)) for i in range(3))
        return joined(o.attention(q, k, v)).reshape(b * t, d)

    for i in range(0, len(layers), len(GPT_LAYER)):
        x = gpt_layer(o, x, layers[i : i + len(GPT_LAYER)], attend)
    return x


def whisper_operations(b, c, t, h, e, layers):
    d = h * e
    return b * t * (6 * c * d + 6 * d * d + layers * (24 * d * d + 4 * t * d))


def experts(o, x, gates, gate, up, down, chosen):
    """Two experts for each token (m, k): (m, 2) of them by number, with their gates (m, 2)."""
    m, k = x.shape
    y, g, u, d = x.reshape(m, 1, 1, k), *(w[chosen] for w in (gate, up, down))
    return (((o.silu(y @ g) * (y @ u)) @ d).reshape(m, 2, k) * gates.reshape(m, 2, 1)).sum(1)


def expert_blocks(o, x, gate, up, down, rows, chosen):
    """Blocks of 64 tokens with an expert each: rows (blocks, 64) of x (m, k)."""
    y = x[rows]
    g, u, d = (w[chosen] for w in (gate, up, down))
    return (o.silu(y @ g) * (y @ u)) @ d


def resnet_training(o, x, ids, stem, a, b, w, g, h, v, i, j, head):
    """Loss and gradients of a stem, a residual block and a head."""
    leaves = [stem, a, b, w, g, h, v, i, j, head]
    y = residual_block(o, o.relu(batch_norm(o, conv3x3(o, x, stem), a, b)), w, g, h, v, i, j)
    loss = o.cross_entropy(o.float32(y.mean((2, 3)) @ head), ids)
    return [loss, *o.gradients(loss, leaves)]


GPT_SIZES, LLAMA = "b t h e v layers", "b h g e f v layers"
TINY_GPT = {"b": 2, "t": 6, "h": 2, "e": 8, "v": 29, "layers": 1}
TINY_LLAMA = {"b": 2, "h": 4, "g": 2, "e": 8, "f": 40, "v": 29, "layers": 1}
MODELS = [
    Program(
        "GPT training step", training_operands, gpt_training, TINY_GPT,
        sizes(GPT_SIZES, (BF16, 1, 128, 4, 64, 1024, 1), (F32, 2, 64, 2, 64, 256, 1)),
        lambda **s: 3 * gpt_operations(**s), training_kept, whole=True,
        large=sizes(GPT_SIZES, (BF16, 4, 1024, 12, 64, 50304, 12), (BF16, 16, 1024, 12, 64, 50304, 12)),
    ),
    Program(
        "GPT layers with gradients", layers_operands, layers_with_gradients, TINY_GPT,
        sizes(GPT_SIZES, (BF16, 4, 512, 12, 64, 8192, 1), (F16, 3, 300, 4, 64, 1000, 1)),
        lambda **s: 3 * gpt_operations(**s), lambda b, t, h, e, v, layers: 17 * layers * b * t * h * e + b * t * v,
    ),
    Program(
        "GPT decode step", gpt_decode_operands, gpt_decode, {"b": 2, "n": 7, "h": 2, "e": 8, "v": 29, "layers": 2},
        sizes("b n h e v layers", (BF16, 1, 1024, 12, 64, 50304, 2), (F16, 16, 500, 4, 64, 1000, 2)),
        lambda b, n, h, e, v, layers: b * (layers * (24 * (h * e) ** 2 + 4 * n * h * e) + 2 * h * e * v),
    ),
    Program(
        "Llama prefill", lambda layers, **_: llama_operands(layers, "int64 b t <v"), llama_prefill,
        {**TINY_LLAMA, "t": 6},
        sizes(LLAMA + " t", (BF16, 1, 4, 2, 128, 1408, 8192, 2, 1024), (F16, 1, 4, 4, 64, 700, 1000, 2, 333)),
        llama_operations, lambda b, h, g, e, f, t, **_: b * t * (2 * h * e + 2 * f),
    ),
    Program(
        "Llama decode step", lambda layers, **_: llama_operands(layers, "int64 b <v", 2 * layers), llama_decode,
        {**TINY_LLAMA, "n": 7},
        sizes(LLAMA + " n", (BF16, 1, 32, 4, 64, 5632, 32000, 1, 2048), (BF16, 16, 16, 4, 64, 2816, 8192, 2, 1024)),
        llama_operations, large=sizes(LLAMA + " n", (BF16, 1, 32, 4, 64, 5632, 32000, 22, 1024)),
    ),
    Program(
        "Whisper encoder",
        lambda layers, **_: ", ".join(["b c t", "h*e c 3", "h*e h*e 3", "t h*e", *GPT_LAYER * layers]), whisper_encoder,
        {"b": 1, "c": 5, "t": 9, "h": 2, "e": 8, "layers": 1}, sizes("b c t h e layers", (F16, 1, 80, 1500, 6, 64, 2)),
        whisper_operations,
        lambda b, t, h, e, **_: 6 * b * t * h * e,
    ),
    Program(
        "experts, two a token", "m k, m 2, x k f, x k f, x f k, int64 m 2 <x", experts,
        {"m": 3, "k": 16, "f": 24, "x": 4}, sizes("m k f x", (BF16, 4, 2048, 1408, 16)),
        lambda m, k, f, x: 12 * m * k * f, unread=lambda m, k, f, x: 3 * k * f * untouched(x, 2 * m),
    ),
    Program(
        "experts, blocks of 64", "m k, x k f, x k f, x f k, int64 c 64 <m, int64 c <x", expert_blocks,
        {"m": 70, "k": 16, "f": 24, "x": 4, "c": 2}, sizes("m k f x c", (BF16, 1024, 1024, 704, 8, 32)),
        lambda k, f, c, **_: 6 * c * 64 * k * f, lambda f, c, **_: 64 * c * f,
    ),
    Program(
        "ResNet training step", "n 3 s s, int64 n <o, c 3 3 3, c, c, c c 3 3, c, c, c c 3 3, c, c, c o",
        resnet_training, {"n": 2, "c": 4, "s": 6, "o": 5},
        sizes("n c s o", (F16, 32, 64, 32, 10), (F32, 8, 32, 16, 10)),
        lambda n, c, s, o: 54 * n * c * s * s * (3 + 2 * c), lambda n, c, s, o: 6 * n * c * s * s,
    ),
]  # fmt: skip
