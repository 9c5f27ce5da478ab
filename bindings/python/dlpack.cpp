#include <algorithm>
#include <limits>
#include <memory>

#include "foreign_p.h"
#include "front_end_p.h"
#include "methods_p.h"
#include "strata/core/support/bools.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/device.h"

// DLPack 1.0 both ways: https://dmlc.github.io/dlpack/latest.
namespace strata::python {

DlpackDevice dlpack_device(const runtime::Device& device) {
    const std::string_view provider = device.api().provider;
    if (provider == "nvidia") return {2, device.ordinal()};  // kDLCUDA
    if (provider == "amd") return {10, device.ordinal()};    // kDLROCM
    return kHostOfDLPack;
}
DlpackDevice dlpack_device(const Tensor& t) { return dlpack_device(t.device()); }

namespace {

/// (dtype code, bits) of DLPack's DLDataType.
std::pair<int, int> dlpack_type(DType t) {
    if (t.is_bool()) return {6, 8};
    if (t.is_complex()) return {5, t.bits()};
    if (const Foreign* row = foreign(t)) return {row->dlpack, t.bits()};
    return {t.is_float() ? 2 : t.is_unsigned() ? 1 : 0, t.bits()};
}

// The memory layouts of dlpack.h, as consumers expect them in a "dltensor" or "dltensor_versioned" capsule.
struct DLTensor {
    void* data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};
struct DLManagedTensor {
    DLTensor tensor;
    void* context;
    void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
    uint32_t major = 1, minor = 0;
    void* context;
    void (*deleter)(DLManagedTensorVersioned*);
    uint64_t flags;
    DLTensor tensor;
};
constexpr uint64_t kReadOnly = 1, kCopied = 2;

/// The objects that a capsule keeps alive.
struct Exported {
    Exported(Tensor& t, DlpackDevice to, bool copy);
    Shape shape;
    std::shared_ptr<runtime::Buffer> memory;
    std::vector<uint8_t> copied;
    bool is_copy;
    DLTensor tensor;
};

Exported::Exported(Tensor& t, DlpackDevice to, bool copy) : shape(t.shape()), is_copy(copy) {
    auto [code, bits] = dlpack_type(t.dtype());
    void* data = nullptr;
    computing([&] {
        Tensor::HostView view;
        if (!copy || to != kHostOfDLPack) view = t.host_view();
        memory = std::move(view.memory);
        if (memory && memory->holds_constant()) is_copy = true;
        if (is_copy && to == kHostOfDLPack) {
            copied.resize(std::max<size_t>(static_cast<size_t>(t.nbytes()), 1));
            t.to_host(data = copied.data());
            return;
        }
        if (is_copy && memory) {
            auto own = std::make_shared<runtime::Buffer>(memory->device(), memory->dtype(), memory->size());
            runtime::copy_memory(*memory, *own);
            memory = std::move(own);
        }
        data = to == kHostOfDLPack || !memory ? view.data : reinterpret_cast<void*>(memory->address());
    });
    tensor = {data, to.first,     to.second, t.ndim(), static_cast<uint8_t>(code), static_cast<uint8_t>(bits),
              1,    shape.data(), nullptr,   0};
}

/// The caller's stream waits for what wrote the memory.
void be_ready_for(const Tensor& t, runtime::Buffer& memory, py::handle stream) {
    if (stream.is_none()) return memory.order_on(nullptr, false);
    const int64_t number = to_integer(py::reinterpret_borrow<py::object>(stream), "a stream");
    const bool rocm = dlpack_device(t).first == 10;
    if (number == 0 && !rocm)
        user_error(ErrorKind::Usage,
                   "[__dlpack__] stream=0 may be either default stream; 1 is the legacy one, 2 a thread's own");
    if (number == -1) return;
    if (number == (rocm ? 0 : 1)) return memory.order_on(nullptr, false);
    memory.be_ready_for(*runtime::Stream::over(memory.device(), static_cast<uint64_t>(number)));
}

/// A capsule of the layout that consumers of DLPack from 1.0 on ask for, or of the one before it.
template <class Managed>
py::capsule capsule_of(std::unique_ptr<Exported> exported, const char* name) {
    auto* managed = new Managed{};
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>)
        managed->flags = exported->is_copy ? kCopied : kReadOnly;
    managed->tensor = exported->tensor;
    managed->context = exported.release();
    managed->deleter = [](Managed* self) {
        delete static_cast<Exported*>(self->context);
        delete self;
    };
    return py::capsule(managed, name, [](PyObject* capsule) {
        const char* at = PyCapsule_GetName(capsule);
        if (std::string_view(at).starts_with("used")) return;  // taken: the consumer deletes it
        auto* own = static_cast<Managed*>(PyCapsule_GetPointer(capsule, at));
        own->deleter(own);
    });
}

py::capsule to_dlpack(Tensor& t, py::handle stream, py::handle max_version, py::handle device, py::handle copy) {
    const DlpackDevice own = dlpack_device(t);
    const bool to_host = !device.is_none() && device.equal(py::cast(kHostOfDLPack)) && own != kHostOfDLPack;
    if (!device.is_none() && !device.equal(py::cast(own)) && !to_host)
        throw py::buffer_error(
            fmt::format("dl_device={}: tensors on {} are exchanged where they are, ({}, {}), and on the host, (1, 0)",
                        shown(device), t.device().name(), own.first, own.second));
    const bool must_copy = !copy.is_none() && copy.cast<bool>(), may_copy = copy.is_none() || must_copy;
    if (to_host && !may_copy)
        throw py::buffer_error("the host does not see the memory of " + t.device().name() + "; copy=None copies it");
    auto exported = std::make_unique<Exported>(t, to_host ? kHostOfDLPack : own, to_host || must_copy);
    if (exported->is_copy && !may_copy)
        throw py::buffer_error("it is a constant, whose memory other tensors have too; copy=None copies it");
    if (own != kHostOfDLPack && !to_host && exported->memory) be_ready_for(t, *exported->memory, stream);
    if (!max_version.is_none() && (!py::isinstance<py::sequence>(max_version) || py::len(max_version) != 2))
        user_error(ErrorKind::Usage, "[__dlpack__] max_version is a pair (major, minor), got {}", shown(max_version));
    bool versioned =
        !max_version.is_none() && to_integer(py::object(max_version[py::int_(0)]), "a version of DLPack") >= 1;
    if (versioned) return capsule_of<DLManagedTensorVersioned>(std::move(exported), "dltensor_versioned");
    return capsule_of<DLManagedTensor>(std::move(exported), "dltensor");
}

// Tensors of others' memory.

/// The tensor of a capsule, and its end.
struct Imported {
    const DLTensor* tensor;
    std::shared_ptr<void> owner;
    bool writable = true;
};

constexpr int kMostAxes = 64;  // of what comes from others, by files too: as NumPy has

template <class Managed>
Imported taken(const py::capsule& capsule, const char* name, const char* used) {
    auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
    if (!managed || PyCapsule_SetName(capsule.ptr(), used)) throw py::error_already_set();
    std::shared_ptr<void> owner(managed, [](void* held) {
        auto* own = static_cast<Managed*>(held);
        py::gil_scoped_acquire gil;
        if (own->deleter) own->deleter(own);
    });
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>)
        if (managed->major != 1)
            throw py::buffer_error(
                fmt::format("[from_dlpack] version {}.{} of DLPack: 1 is read", managed->major, managed->minor));
    const DLTensor& t = managed->tensor;
    if (t.ndim < 0 || t.ndim > kMostAxes || (t.ndim && !t.shape))
        throw py::buffer_error(fmt::format("[from_dlpack] a tensor of {} axes{}: 0 to {} are read", t.ndim,
                                           t.shape ? "" : " without their sizes", kMostAxes));
    if (!t.data && std::ranges::find(t.shape, t.shape + t.ndim, 0) == t.shape + t.ndim)
        throw py::buffer_error("[from_dlpack] the tensor has elements, but no memory: its producer gives no address");
    bool writable = true;
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) writable = !(managed->flags & kReadOnly);
    return {&t, std::move(owner), writable};
}

DlpackDevice device_said_by(const py::object& x) {
    const py::object said = x.attr("__dlpack_device__")();
    try {
        return said.cast<DlpackDevice>();
    } catch (const py::cast_error&) {
        user_error(ErrorKind::Usage,
                   "[from_dlpack] __dlpack_device__() gives {}, not a pair (kind, number) of integers", shown(said));
    }
}

/// x.__dlpack__, of a producer that knows version 1.0, or of an older one. The memory is the host's, or with a `stream`
/// that of a card, ready for it.
Imported asked_for(const py::object& x, std::optional<int64_t> stream = {}) {
    const auto device = device_said_by(x);
    constexpr int kHosts[] = {1, 3, 11, 13};  // kDLCPU, kDLCUDAHost, kDLROCMHost, kDLCUDAManaged
    const bool on_host = std::ranges::find(kHosts, device.first) != std::end(kHosts);
    py::dict plain, named(py::arg("max_version") = py::make_tuple(1, 0));
    if (stream)
        named["stream"] = *stream, plain["stream"] = *stream;
    else if (!on_host)
        named["dl_device"] = kHostOfDLPack;
    py::capsule capsule;
    try {
        capsule = x.attr("__dlpack__")(**named);
    } catch (py::error_already_set& e) {
        if (!e.matches(PyExc_TypeError) || named.contains("dl_device")) throw;
        capsule = x.attr("__dlpack__")(**plain);
    }
    const std::string_view name = capsule.name() ? capsule.name() : "";
    if (name == "dltensor_versioned")
        return taken<DLManagedTensorVersioned>(capsule, "dltensor_versioned", "used_dltensor_versioned");
    if (name == "dltensor") return taken<DLManagedTensor>(capsule, "dltensor", "used_dltensor");
    throw py::buffer_error(fmt::format("[from_dlpack] a capsule '{}' is no tensor that nobody took yet", name));
}

DType type_of(const DLTensor& t) {
    if (t.lanes == 1)
        for (std::span<const DType> types : {all_dtypes(), complex_dtypes()})
            for (DType type : types)
                if (dlpack_type(type) == std::pair<int, int>(t.code, t.bits)) return type;
    throw py::buffer_error(
        fmt::format("[from_dlpack] no type here has code {}, {} bits and {} lanes", t.code, t.bits, t.lanes));
}

/// How many elements there are; they and their bytes are numbers of 64 bits.
int64_t count_of(const DLTensor& t, DType type) {
    const Shape shape(t.shape, t.shape + t.ndim);
    const int64_t count = Tensor::zeros(shape, type).numel();
    if (count > std::numeric_limits<int64_t>::max() / (type.bits() / 8))
        throw py::buffer_error(
            fmt::format("[from_dlpack] the bytes of shape {} are more than 64 bits can count", to_string(shape)));
    return count;
}

bool is_dense(const DLTensor& t) {
    if (!t.strides) return true;
    int64_t stride = 1;
    for (int i = t.ndim - 1; i >= 0; --i) {
        if (t.shape[i] != 1 && t.strides[i] != stride) return false;
        stride *= t.shape[i];
    }
    return true;
}

/// Elements in row-major order.
void gather(const DLTensor& t, size_t bytes, int axis, const uint8_t* from, uint8_t*& to) {
    if (axis == t.ndim) {
        to = std::copy_n(from, bytes, to);
        return;
    }
    for (int64_t i = 0; i < t.shape[axis]; ++i)
        gather(t, bytes, axis + 1, from + i * t.strides[axis] * static_cast<int64_t>(bytes), to);
}

constexpr uintptr_t kAlignment = 16;  // of the widest access of a lane

/// Why memory cannot be used where it is; nullptr: it can.
const char* why_copied(const DLTensor& t, DType type, const uint8_t* data, size_t count,
                       const runtime::Device& device) {
    if (!device.api().map_host) return "the device does not see the memory of the host";
    if (type.is_complex()) return "complex tensors are two real ones here";
    if (!is_dense(t)) return "its elements are not in row-major order";
    if (reinterpret_cast<uintptr_t>(data) % kAlignment) return "it is not aligned to 16 bytes";
    if (type.is_bool() && !are_bools({data, count})) return "its bools are other bytes than 0 and 1";
    return nullptr;
}

/// A card's memory that its producer shares; with `copy` in memory of our own. Why it cannot be: `why`.
std::optional<Tensor> shared_on_card(const py::object& x, runtime::Device& device, bool copy, std::string& why) {
    const auto now = runtime::Stream::current(device);
    const bool rocm = device.api().provider == "amd";
    const Imported got = asked_for(x, now ? static_cast<int64_t>(now->raw()) : rocm ? 0 : 1);
    const DLTensor& t = *got.tensor;
    const DType type = type_of(t);
    const uint64_t address = reinterpret_cast<uint64_t>(t.data) + t.byte_offset;
    if (type.is_complex())
        why = "complex tensors are two real ones here";
    else if (!is_dense(t))
        why = "its elements are not in row-major order";
    else if (address % kAlignment)
        why = "it is not aligned to 16 bytes";
    if (!why.empty()) return std::nullopt;
    const Shape shape(t.shape, t.shape + t.ndim);
    const int64_t count = count_of(t, type);
    if (!count) return Tensor::zeros(shape, type).to(device.name());
    return computing([&] {
        GraphScope scope;
        const UOp memory = runtime::borrowed_buffer(device, type, count, address, got.owner);
        runtime::find_buffer(memory)->order(true);
        if (!copy) return Tensor(memory, &device).reshape(shape);
        const UOp own = runtime::new_buffer(device, type, count);
        runtime::copy_memory(*runtime::find_buffer(memory), *runtime::find_buffer(own));
        return Tensor(own, &device).reshape(shape);
    });
}

Tensor from_dlpack(const py::object& x, const std::string& place, As<"bool | None"> copy) {
    if (runtime::Device& card = runtime::device(place);
        dlpack_device(card) != kHostOfDLPack && device_said_by(x) == dlpack_device(card)) {
        std::string why;
        const bool given = !copy.is_none();
        if (std::optional<Tensor> shared = shared_on_card(x, card, given && copy.cast<bool>(), why)) return *shared;
        if (given && !copy.cast<bool>()) throw py::buffer_error(fmt::format("[from_dlpack] copy=False, but {}", why));
    }
    const Imported got = asked_for(x);
    const DLTensor& t = *got.tensor;
    const DType type = type_of(t);
    const Shape shape(t.shape, t.shape + t.ndim);
    auto* data = static_cast<uint8_t*>(t.data) + t.byte_offset;
    const int64_t count = count_of(t, type);
    runtime::Device& device = runtime::device(place);
    const bool may_copy = copy.is_none() || copy.cast<bool>(), must_copy = !copy.is_none() && may_copy;
    const char* why = must_copy || !count ? "" : why_copied(t, type, data, static_cast<size_t>(count), device);
    if (count && !why) {
        Tensor shared = computing([&] {
            GraphScope scope;
            UOp memory = runtime::borrowed_buffer(device, type, count, data, got.owner, got.writable);
            return memory ? Tensor(memory, &device).reshape(shape) : Tensor();
        });
        if (shared) return shared;
        why = "a part of its memory is a tensor's";
    }
    if (count && !may_copy) throw py::buffer_error(fmt::format("[from_dlpack] copy=False, but {}", why));
    std::vector<uint8_t> dense;
    if (count && !is_dense(t)) {
        dense.resize(static_cast<size_t>(count * type.bits() / 8));
        uint8_t* to = dense.data();
        gather(t, static_cast<size_t>(type.bits() / 8), 0, data, to);
        data = dense.data();
    }
    return computing([&] { return Tensor::from_host(data, shape, type, place); });
}

constexpr const char* kShared =
    R"(The tensor's memory, computed, for numpy.from_dlpack(t) and torch.from_dlpack(t).

It is said to be read-only, which consumers of a version before 1.0 do not see and PyTorch does not heed. What is written there
shows in this tensor and in all that have its memory: what is the same elements in another shape (x.reshape(-1), x + 0), and what
was made of the same tensors in the same way before it was computed (x * 2 twice). What was computed of it before stays; what is
computed later is of what is there then. Constants (ones, arange, and what a captured function gives back that is the same each
time) have their memory in common with tensors that were not made of them: they are copied, and copy=False is a BufferError.
copy=True: memory of its own, to be written to.)";

}  // namespace

void bind_dlpack(py::module_& m, TensorClass& c) {
    c.def(
        "__dlpack__",
        [](Tensor & t, As<"int | None"> stream, As<"tuple[int, int] | None"> max_version,
           As<"tuple[int, int] | None"> device,
           As<"bool | None"> copy) -> As<"CapsuleType"> { return to_dlpack(t, stream, max_version, device, copy); },
        py::kw_only(), py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
        py::arg("dl_device") = py::none(), py::arg("copy") = py::none(), kShared);
    c.def("__dlpack_device__", [](const Tensor& t) { return dlpack_device(t); });
    m.attr("_MOST_AXES") = kMostAxes;
    m.def(
        "_from_dlpack",
        [](const py::object& x, const std::string& device, As<"bool | None"> copy) {
            return from_dlpack(x, device, copy);
        },
        py::arg("x"), py::arg("device"), py::arg("copy"));
}

}  // namespace strata::python
