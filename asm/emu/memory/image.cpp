#include "strata/asm/emu/memory/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "strata/asm/emu/machine/device_memory.h"
#include "strata/asm/emu/machine/handler.h"
#include "strata/asm/emu/machine/operands.h"
#include "strata/asm/emu/memory/image_resource.h"
#include "strata/asm/emu/memory/ops.h"

// Image loads, stores, samples and gathers of linear images of one level. Fractions of a linear filter have eight bits,
// rounded to the nearest, as the formulas for texture fetches in CUDA's programming guide have them. AMD's documents
// give no width. Coordinates of point fetches are rounded so too, as the device library's may fall just short of a
// texel.
namespace strata::emu {
namespace {

using isa::ImageDim;
using isa::ImageForm;
using isa::ImageKind;

/// Where VectorFields holds the parts of an image instruction: data in dst or dst2, addresses in src.
constexpr int kResource = 0, kSampler = 1, kForm = 2;

using Texel = std::array<uint32_t, 4>;  ///< components as registers see them

class Image {
  public:
    Image(Wave* wave, const Op* op)
        : wave_(wave),
          op_(op),
          form_(ImageForm::unpack(static_cast<int32_t>(op->vector().value[kForm]))),
          resource_(row_at(wave, op->vector().value[kResource]), op->vector().flags) {}

    bool run() {
        if (resource_.unusable) return refuse("image descriptor", resource_.unusable);
        const bool shape = (resource_.type & 7) == static_cast<int>(form_.dim);
        if (!shape) return refuse("image descriptor", "it is of another shape than the instruction's dim");
        if (form_.kind == ImageKind::store && resource_.format.numeric == Numeric::srgb)
            return refuse("image descriptor", "texels of sRGB cannot be stored");
        if (form_.has_sampler()) return sample();
        for (u64 left = wave_->exec(); left; left &= left - 1) {
            const int lane = std::countr_zero(left);
            int64_t at[3] = {0, 0, 0};
            for (int i = 0; i < dimensions(); ++i) at[axis(i)] = address(i)[lane];
            if (!(form_.kind == ImageKind::store ? store(lane, at) : load(lane, at))) return false;
        }
        return true;
    }

  private:
    int dimensions() const {
        return form_.dim == ImageDim::d1 ? 1 : form_.dim == ImageDim::d2 || form_.dim == ImageDim::d1_array ? 2 : 3;
    }
    bool layered() const { return form_.dim == ImageDim::d1_array || form_.dim == ImageDim::d2_array; }
    /// The axis of the image that coordinate i is along: the last one of an array chooses the slice.
    int axis(int i) const { return layered() && i == dimensions() - 1 ? 2 : i; }
    const uint32_t* address(int i) const { return row_at(wave_, op_->vector().src[i]); }

    bool refuse(const char* what, const char* why) {
        fail(wave_, op_, fmt::format("the {} cannot be used: {}", what, why));
        return false;
    }
    bool inside(const int64_t* at) const {
        for (int i = 0; i < 3; ++i)
            if (at[i] < 0 || at[i] >= resource_.size[i]) return false;
        return true;
    }

    uint8_t* place(int lane, const int64_t* at, bool store) {
        const uint32_t bytes = resource_.format.bytes();
        const u64 address = resource_.base + static_cast<u64>(at[2]) * resource_.slice +
                            static_cast<u64>(at[1]) * resource_.pitch + static_cast<u64>(at[0]) * bytes;
        Wave::Hit& hit = wave_->hits[store ? Wave::kStoreHits : 0];
        if ((address < hit.low || address > hit.high - bytes) && !find_memory(wave_, address, bytes, store, hit)) {
            fail(wave_, op_,
                 fmt::format(
                     "lane {} {} texel ({}, {}, {}) of an image at {:#x}, whose {} bytes at {:#x} are in no memory "
                     "of the device",
                     lane, store ? "stores" : "loads", at[0], at[1], at[2], resource_.base, bytes, address));
            return nullptr;
        }
        return reinterpret_cast<uint8_t*>(address + hit.bias);
    }

    bool read(int lane, const int64_t* at, Texel& out) {
        const uint8_t* const from = place(lane, at, false);
        if (!from) return false;
        u64 raw[2] = {0, 0};
        memcpy(raw, from, resource_.format.bytes());
        Texel held{};
        for (size_t i = 0, bit = 0; i < 4; bit += resource_.format.bits[i++]) {
            const uint32_t bits = resource_.format.bits[i];
            if (bits == 0) continue;
            const auto value = static_cast<uint32_t>(raw[bit / 64] >> bit % 64) & (~0u >> (32 - bits));
            const bool is_alpha = i == 3 && resource_.format.numeric == Numeric::srgb;
            held[i] = component_to_register(value, bits, is_alpha ? Numeric::unorm : resource_.format.numeric);
        }
        const uint32_t one = resource_.format.is_integer() ? 1 : std::bit_cast<uint32_t>(1.0f);
        for (int i = 0; i < 4; ++i) {
            const int from_component = resource_.selected(i);
            out[static_cast<size_t>(i)] = from_component >= 0    ? held[static_cast<size_t>(from_component)]
                                          : from_component == -2 ? one
                                                                 : 0;
        }
        return true;
    }
    void put_texel(int lane, const Texel& texel) {
        uint32_t* row = row_at(wave_, op_->vector().dst);
        for (size_t i = 0; i < 4; ++i)
            if (form_.components >> i & 1) row[lane] = texel[i], row += wave_->lanes;
    }

    /// Outside of the image a load gives zeros.
    bool load(int lane, const int64_t* at) {
        Texel texel{};
        if (inside(at) && !read(lane, at, texel)) return false;
        put_texel(lane, texel);
        return true;
    }
    /// Outside of the image a store does nothing. Components that the instruction has not are stored as zero.
    bool store(int lane, const int64_t* at) {
        if (!inside(at)) return true;
        uint8_t* const to = place(lane, at, true);
        if (!to) return false;
        const uint32_t* row = row_at(wave_, op_->vector().dst2);
        Texel given{};
        for (size_t i = 0; i < 4; ++i)
            if (form_.components >> i & 1) given[i] = row[lane], row += wave_->lanes;
        u64 raw[2] = {0, 0};
        for (size_t i = 0, bit = 0; i < 4; bit += resource_.format.bits[i++]) {
            const uint32_t bits = resource_.format.bits[i];
            for (int component = 0; bits && component < 4; ++component) {
                if (resource_.selected(component) != static_cast<int>(i)) continue;
                raw[bit / 64] |=
                    u64{component_from_register(given[static_cast<size_t>(component)], bits, resource_.format.numeric)}
                    << bit % 64;
                break;
            }
        }
        memcpy(to, raw, resource_.format.bytes());
        return true;
    }

    /// An index along an axis by the address mode; -1: the border.
    static int64_t wrapped(int64_t i, int64_t size, Clamp clamp) {
        const int64_t period = clamp == Clamp::mirror ? 2 * size : size;
        switch (clamp) {
            case Clamp::wrap: return (i % size + size) % size;
            case Clamp::mirror: i = (i % period + period) % period; return i < size ? i : period - 1 - i;
            case Clamp::last_texel: return std::clamp<int64_t>(i, 0, size - 1);
            default: return i < 0 || i >= size ? -1 : i;
        }
    }
    Texel border(const ImageSampler& sampler) const {
        const uint32_t one = resource_.format.is_integer() ? 1 : std::bit_cast<uint32_t>(1.0f);
        const uint32_t colour = sampler.border == 2 ? one : 0, alpha = sampler.border ? one : 0;
        return {colour, colour, colour, alpha};
    }

    bool sample() {
        const ImageSampler sampler(row_at(wave_, op_->vector().value[kSampler]));
        if (sampler.unusable) return refuse("sampler", sampler.unusable);
        const bool gathers = form_.kind == ImageKind::gather;
        for (u64 left = wave_->exec(); left; left &= left - 1)
            if (const int lane = std::countr_zero(left); !(gathers ? gather(lane, sampler) : sample(lane, sampler)))
                return false;
        return true;
    }

    struct Spot {
        int64_t low[3] = {0, 0, 0};
        int weight[3] = {0, 0, 0};
    };
    /// Along each axis the lower texel, and how much of 256 the next one counts.
    Spot spot(int lane, const ImageSampler& sampler) const {
        Spot out;
        const bool texels = form_.unnormalized || sampler.unnormalized, gathers = form_.kind == ImageKind::gather;
        for (int i = 0; i < dimensions(); ++i) {
            const int along = axis(i);
            const double size = resource_.size[along];
            double at = std::bit_cast<float>(address(i)[lane]);
            if (std::isnan(at)) at = 0;
            if (layered() && along == 2) {
                out.low[2] = static_cast<int64_t>(std::clamp(std::nearbyint(at), 0.0, size - 1));
                continue;
            }
            if (!texels) at *= size;
            at = std::clamp(at, -0x1p40, 0x1p40);
            const bool filters = along == 2 ? sampler.linear_z : sampler.linear;
            const bool linear = gathers || (filters && !resource_.format.is_integer());
            const double nearest = std::floor((linear ? at - .5 : at) * 256 + .5);
            const double steps = linear ? nearest : std::floor(nearest / 256) * 256;
            out.low[along] = static_cast<int64_t>(std::floor(steps / 256));
            out.weight[along] = static_cast<int>(steps - static_cast<double>(out.low[along]) * 256);
        }
        return out;
    }
    /// The texel some steps after the lower one; where the border is, its colour.
    bool texel_at(int lane, const Spot& from, int corner, const ImageSampler& sampler, Texel& out) {
        int64_t at[3];
        bool outside = false;
        for (int i = 0; i < 3; ++i) {
            const int64_t place = from.low[i] + (corner >> i & 1);
            at[i] = layered() && i == 2 ? from.low[2] : wrapped(place, resource_.size[i], sampler.clamp[i]);
            outside |= at[i] < 0;
        }
        out = border(sampler);
        return outside || read(lane, at, out);
    }

    /// The four texels that a linear filter takes of a plane, counterclockwise from the lower left one.
    bool gather(int lane, const ImageSampler& sampler) {
        constexpr int kCorners[] = {2, 3, 1, 0};
        const auto component = static_cast<size_t>(std::countr_zero(form_.components));
        const Spot from = spot(lane, sampler);
        uint32_t* row = row_at(wave_, op_->vector().dst);
        for (int corner : kCorners) {
            Texel texel;
            if (!texel_at(lane, from, corner, sampler, texel)) return false;
            row[lane] = texel[component];
            row += wave_->lanes;
        }
        return true;
    }

    bool sample(int lane, const ImageSampler& sampler) {
        const Spot from = spot(lane, sampler);
        const auto& weight = from.weight;
        Texel result{};
        std::array<double, 4> sum{};
        for (int corner = 0; corner < 8; ++corner) {
            double share = 1;
            for (int i = 0; i < 3; ++i) share *= (corner >> i & 1 ? weight[i] : 256 - weight[i]) / 256.0;
            if (share == 0) continue;
            Texel texel;
            if (!texel_at(lane, from, corner, sampler, texel)) return false;
            result = texel;
            for (size_t i = 0; i < 4; ++i) sum[i] += share * std::bit_cast<float>(texel[i]);
        }
        const bool filtered = weight[0] || weight[1] || weight[2];
        for (size_t i = 0; filtered && i < 4; ++i) result[i] = std::bit_cast<uint32_t>(static_cast<float>(sum[i]));
        put_texel(lane, result);
        return true;
    }

    Wave* wave_;
    const Op* op_;
    ImageForm form_;
    ImageResource resource_;
};

/// In a function that returns, so that its frame is gone when the next handler runs.
[[gnu::noinline]] bool access(Wave* wave, const Op* op) { return Image(wave, op).run(); }

const Op* image(Wave* wave, const Op* op) {
    if (!access(wave, op)) return nullptr;
    STRATA_EMU_NEXT;
}

}  // namespace

std::optional<Op> choose_image(const Decoded& decoded) {
    if (isa::is_cdna(decoded.family())) return {};
    const isa::Inst& inst = decoded.inst;
    VectorFields fields;
    fields.dst = destination_place(inst.dst[0], decoded.wave_size);
    const auto vector = [&](const isa::Operand& operand) {
        return Wave::vector_place(operand.row(), decoded.wave_size);
    };
    if (inst.src[2].present()) fields.dst2 = vector(inst.src[2]);
    fields.value[kResource] = Wave::scalar_place(inst.src[0].code);
    if (inst.src[1].present()) fields.value[kSampler] = Wave::scalar_place(inst.src[1].code);
    fields.value[kForm] = static_cast<uint32_t>(inst.offset);
    const bool together = !inst.src_y[0].present();
    for (int i = 0; i < ImageForm::unpack(inst.offset).addresses; ++i)
        fields.src[i] = together ? Wave::vector_place(inst.src[3].row() + i, decoded.wave_size)
                        : i == 0 ? vector(inst.src[3])
                                 : vector(inst.src_y[static_cast<size_t>(i - 1)]);
    fields.flags = decoded.family() == isa::Family::rdna4;
    return Op(image, fields);
}

}  // namespace strata::emu
