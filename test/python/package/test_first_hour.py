"""Names that people of PyTorch, NumPy and tinygrad type in their first hour give a value, or an error that says what to
write instead.
"""

import numpy as np
import pytest
import strata
import strata.nn.functional as F
from strata import Tensor, nn, optim

VALUES = """
nn.Linear(3,4).to("float16")
nn.Linear(3,4).to(device="emu:gfx1100")
nn.Linear(3,4).half()
nn.Linear(3,4).bfloat16()
nn.Linear(3,4).float()
nn.Linear(3,4).eval()
nn.Linear(3,4).train()
strata.synchronize()
strata.realize(Tensor([1.]), Tensor([2.]))
Tensor([1.,2.]).numel()
Tensor([1.,2.], requires_grad=True)
strata.zeros((3, 4))
strata.ones(3, requires_grad=True)
strata.arange(10)
strata.linspace(0, 1, 5)
strata.eye(3)
strata.full((2,3), 7.)
strata.manual_seed(1)
strata.no_grad()
strata.cat([Tensor([1.]), Tensor([2.])])
strata.stack([Tensor([1.]), Tensor([2.])])
strata.matmul(Tensor.ones(2,2), Tensor.ones(2,2))
strata.einsum("ij,jk", Tensor.ones(2,2), Tensor.ones(2,2))
strata.softmax(Tensor.ones(2,2), dim=-1)
strata.relu(Tensor.ones(2))
strata.sigmoid(Tensor.ones(2))
strata.argmax(Tensor.ones(2))
strata.topk(Tensor.arange(5), 2)
strata.where(Tensor([True]), Tensor([1.]), Tensor([2.]))
strata.equal(Tensor.ones(2), Tensor.ones(2))
Tensor([1.,2.]).view(2,1)
Tensor([1.,2.]).dim()
Tensor([1.,2.]).ndim
Tensor([1.,2.]).cpu()
Tensor([1.,2.]).to(strata.float16)
Tensor([1.,2.]).half()
Tensor([1.,2.]).float()
Tensor([1.,2.]).double()
Tensor([1.,2.]).long()
Tensor([1.,2.]).int()
Tensor([1.,2.]).bool()
Tensor([1.,2.]).detach()
Tensor([1.,2.]).clone()
Tensor([1.,2.]).tolist()
Tensor([1.,2.]).unsqueeze(0)
Tensor([1.,2.]).squeeze()
Tensor([1.,2.]).transpose(0, 0)
Tensor([[1.,2.]]).T
Tensor([[1.,2.]]).permute(1,0)
Tensor([[1.,2.]]).flatten()
Tensor([[1.,2.]]).expand(3,2)
Tensor([[1.,2.]]).masked_fill(Tensor([[True,False]]), 0)
Tensor([[1.,2.]]).gather(1, Tensor([[0]]))
Tensor([[1.,2.]]).max(dim=1)
Tensor([[1.,2.]]).mean(dim=1, keepdim=True)
Tensor([[1.,2.]]).std()
Tensor([[1.,2.]]).norm()
Tensor([[1.,2.]]).grad
Tensor([[1.,2.]]).requires_grad
Tensor([[1.,2.]]).device
Tensor([[1.,2.]]).dtype
Tensor([[1.,2.]]).shape
Tensor([[1.,2.]]).contiguous()
Tensor([[1.,2.]]).chunk(2, dim=1)
Tensor([[1.,2.]]).split(1, dim=1)
Tensor([[1.,2.]]).argmax(dim=1)
Tensor([[1.,2.]]).eq(1)
Tensor([[1.,2.]]).sum(dim=(0,1))
Tensor([[1.,2.]]).pow(2)
Tensor([[1.,2.]]).rsqrt()
Tensor([[1.,2.]]).nbytes
Tensor([[1.,2.]]).numpy()
nn.BatchNorm2d(3)
nn.BatchNorm1d(3)
nn.Dropout(0.5)
nn.Flatten()
nn.Embedding(3,4)
nn.Conv2d(1,2,3)
nn.Identity()
nn.Softmax(dim=1)
nn.LogSoftmax(dim=1)
nn.LeakyReLU(0.1)
nn.ReLU(inplace=True)
nn.Tanh()
nn.Sigmoid()
nn.GELU()
nn.SiLU()
nn.LayerNorm(4)
nn.GroupNorm(1,4)
nn.LSTM(3,4)
nn.MultiheadAttention(8, 2)
optim.SGD([Tensor([1.]).requires_grad_()], lr=0.1, momentum=0.9)
optim.Adam([Tensor([1.]).requires_grad_()], lr=0.1)
optim.Adam([Tensor([1.]).requires_grad_()], lr=0.1).zero_grad()
F.relu(Tensor([1.]))
F.scaled_dot_product_attention(Tensor.ones(1,4,2,8), Tensor.ones(1,2,2,8), Tensor.ones(1,2,2,8), enable_gqa=True)
F.one_hot(Tensor([1]), 3)
nn.Linear(3,4).state_dict()
nn.Linear(3,4).parameters()
list(nn.Linear(3,4).named_parameters())
list(nn.Linear(3,4).children())
list(nn.Linear(3,4).modules())
nn.Linear(3,4).zero_grad()
nn.Linear(3,4).weight.shape
nn.Linear(3,4).requires_grad_(False)
nn.Linear(3,4).apply(lambda m: None)
nn.Linear(3,4, bias=False)
Tensor.manual_seed(1)
Tensor.full((2,),1.)
Tensor.eye(2)
Tensor([[1.,2.]]).dot(Tensor.ones(2,3))
""".split("\n")[1:-1]
HINTS = """
strata.tensor([1.,2.])
strata.tensor([1.,2.], requires_grad=True)
strata.zeros(3, 4)
strata.randn(3, 4)
strata.rand(3, 4)
strata.randint(0, 10, (3,))
strata.from_numpy(np.ones(3))
strata.as_tensor([1,2])
strata.device("cpu")
strata.cuda.is_available()
strata.mm(Tensor.ones(2,2), Tensor.ones(2,2))
strata.bmm(Tensor.ones(1,2,2), Tensor.ones(1,2,2))
strata.clamp(Tensor.ones(2), 0, 1)
strata.allclose(Tensor.ones(2), Tensor.ones(2))
strata.is_tensor(Tensor([1.]))
strata.get_default_dtype()
strata.set_default_dtype(strata.float32)
strata.compile(lambda x: x)
Tensor([1.,2.]).size()
Tensor([1.,2.]).size(0)
Tensor([1.,2.]).to("cpu")
Tensor([1.,2.]).cuda()
Tensor([1.,2.]).type(strata.float16)
Tensor([[1.,2.]]).t()
Tensor([[1.,2.]]).repeat(3,2)
Tensor([[1.,2.]]).add_(1)
Tensor([[1.,2.]]).zero_()
Tensor([[1.,2.]]).mul_(2)
Tensor([[1.,2.]]).is_leaf
Tensor([[1.,2.]]).data
Tensor([[1.,2.]]).uniform_()
Tensor([[1.,2.]]).normal_()
Tensor([[1.,2.]]).element_size()
nn.CrossEntropyLoss()
nn.MSELoss()
nn.BCEWithLogitsLoss()
optim.GradScaler()
nn.ModuleList([nn.Linear(1,2)])
nn.ModuleDict({"a": nn.Linear(1,2)})
nn.Parameter(Tensor([1.]))
nn.TransformerEncoderLayer(8, 2)
nn.Upsample(scale_factor=2)
nn.AdaptiveAvgPool2d(1)
nn.init.xavier_uniform_(Tensor.empty(2,2))
nn.init.kaiming_normal_(Tensor.empty(2,2))
nn.utils.clip_grad_norm_([Tensor([1.])], 1.0)
optim.Adam([Tensor([1.]).requires_grad_()], lr=0.1).step()
optim.lr_scheduler.StepLR(optim.SGD([Tensor([1.]).requires_grad_()], lr=0.1), 10)
strata.utils.data.DataLoader([1], batch_size=1)
strata.inference_mode()
strata.autocast("cuda")
strata.Tensor.uniform(3)
Tensor.kaiming_uniform(3,4)
Tensor.glorot_uniform(3,4)
Tensor.scaled_uniform(3,4)
Tensor.train()
Tensor([1.]).schedule()
Tensor([1.]).lazydata
Tensor([[1.,2.]]).sparse_categorical_crossentropy(Tensor([1]))
Tensor([[1.,2.]]).linear(Tensor.ones(2,3))
Tensor([[1.,2.]]).conv2d(Tensor.ones(2,3))
Tensor([[1.,2.]]).sequential([])
Tensor([[1.,2.]]).layernorm()
Tensor([[1.,2.]]).dropout(0.1)
""".split("\n")[1:-1]
NAMES = {"np": np, "strata": strata, "F": F, "Tensor": Tensor, "nn": nn, "optim": optim}


@pytest.mark.parametrize("line", VALUES)
def test_it_has_a_meaning(line):
    eval(line, NAMES)


@pytest.mark.parametrize("line", HINTS)
def test_the_error_says_what_to_write(line):
    with pytest.raises((strata.Error, AttributeError, TypeError)) as said:
        eval(line, NAMES)
    assert any(sign in str(said.value) for sign in (": ", "; ")), said.value


RENAMED = """
nn.Linear(features_in=3, features_out=4)
nn.Conv2d(channels_in=1, channels_out=2, window=3)
nn.MaxPool(window=(2, 2))
nn.AvgPool((2, 2), count_padding=False)
nn.Embedding(entries=3, width=4)
nn.MultiheadAttention(width=8, heads=2, kv_heads=1)
nn.GRU(width_in=3, width=4)
nn.LayerNorm(shape=4, affine=False)
nn.RMSNorm(width=4)
nn.GroupNorm(groups=2, channels=4)
nn.BatchNorm(channels=4)
nn.LeakyReLU(slope=0.1)
nn.MultiheadAttention(8, 2).heads
nn.Conv2d(1, 2, 3).window
optim.SGD([Tensor([1.0]).requires_grad_()], rate=0.1, decay=0.01)
optim.SGD([Tensor([1.0]).requires_grad_()], 0.1).rate
optim.cosine(rate=0.1, steps=10)
optim.stairs(0.1, 2)
optim.step_decay(0.1, every=2, factor=0.5)
optim.exponential(0.1, factor=0.5)
optim.LossScaler(scale=2.0, growth=3.0, backoff=0.5, every=2)
optim.LossScaler().every
nn.rotary(Tensor.ones(3, 4))
nn.rotary_embedding(Tensor.ones(3, 4), start=1)
nn.KVCache().extended(Tensor.ones(1, 1, 1, 2), Tensor.ones(1, 1, 1, 2))
strata.uop.placeholder(4, "float32", "local").index(0, gate=strata.uop.const(True, "bool"))
""".split("\n")[1:-1]


@pytest.mark.parametrize("line", RENAMED)
def test_names_of_the_last_version_work_and_warn(line):
    with pytest.warns(DeprecationWarning, match="is now called"):
        assert eval(line, NAMES) is not None


def test_a_module_moves_to_other_types_and_goes_on_training():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Embedding(2, 2))
    net.layers.pop()
    step = optim.SGD(net.parameters(), lr=0.1)
    before, wanted = net.layers[0].weight, [p.requires_grad for p in net.state_dict().values()]
    values = before.numpy()
    assert net.bfloat16() is net and net.layers[0].weight is before
    assert {t.dtype.name for t in net.state_dict().values()} == {"bfloat16"}
    assert [p.requires_grad for p in net.state_dict().values()] == wanted
    np.testing.assert_allclose(before.cast("float32").numpy(), values, rtol=2**-8)
    net.to(Tensor.zeros(1))
    net.to(device="emu:gfx942")
    assert before.dtype.name == "float32" and before.device == "emu:gfx942"
    net(Tensor.ones(2, 3, device="emu:gfx942")).square().sum().backward()
    step()
    assert before.grad is None
    with pytest.raises(strata.UsageError, match="type of floats"):
        net.to("int32")


def test_constructors_take_requires_grad():
    for x in (
        Tensor([1.0], requires_grad=True),
        strata.ones(3, requires_grad=True),
        Tensor.randn(3, requires_grad=True),
        strata.asarray([1.0], requires_grad=True),
    ):
        assert x.requires_grad
        x.sum().backward()
        assert x.grad.numpy().tolist() == [1.0] * x.size
    with pytest.raises(strata.DTypeError):
        Tensor([1], requires_grad=True)


def test_realize_takes_tensors_and_lists_of_them():
    a, b, c = (Tensor([float(i)]) + 1 for i in range(3))
    strata.realize(a, [b, c])
    assert strata.explain(a, b, c) == "nothing is left to compute: it is in memory\n"
    strata.realize()
    strata.realize(Tensor([i]) for i in range(3))
    with pytest.raises(strata.UsageError, match="a tensor was expected"):
        strata.realize(a, 3)


def test_hooks_over_modules_see_each_once():
    net, seen = nn.Sequential(nn.Linear(1, 2), nn.Sequential(nn.ReLU())), []
    assert net.apply(seen.append) is net and seen[-1] is net and len(seen) == 4
    assert net.children() == net.layers
    assert not net.requires_grad_(False).parameters() and len(net.requires_grad_().parameters()) == 2
