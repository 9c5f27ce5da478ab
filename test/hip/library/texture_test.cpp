// Textures, surfaces and references to textures: what is reported of them, the words of their objects, refusals.
// Kernels that read them: programs/textures.hip.
#include <array>
#include <cstring>

#include "strata/asm/llvm/assemble.h"
#include "texture_fixture.h"

namespace strata::hip::library {
namespace {

TEST_F(Textures, ObjectsOfTexturesHoldDescriptorsAndTellWhatTheyAreOf) {
    void* const array = make(kWidth, kHeight, 0, 0, kBytes4);
    const ResourceDescription resource = of(array);
    TextureDescription sampling{.address = {3, 2, 0}, .filter = 1, .read = 1, .normalized = 1};
    void* texture = nullptr;
    EXPECT_EQ(hipCreateTextureObject(&texture, &resource, &sampling, nullptr), hipSuccess);
    const Words is = words_of(texture);
    const auto base = reinterpret_cast<uintptr_t>(static_cast<Array*>(array)->memory);
    // RDNA3 ISA 8.2.5 and 8.2.6: base, format 42 (8_8_8_8_UNORM), width, height; XYZW, type 9 (2D); pitch; clamp to
    // border.
    EXPECT_EQ(is[0], static_cast<uint32_t>(base >> 8));
    EXPECT_EQ(is[1], static_cast<uint32_t>(base >> 40 | 42u << 20 | (kWidth - 1) << 30));
    EXPECT_EQ(is[2], (kWidth - 1) >> 2 | (kHeight - 1) << 14);
    EXPECT_EQ(is[3], 0x90000facu);
    EXPECT_EQ(is[4], 63u);
    EXPECT_EQ((Words{is[8], is[9], is[10]}), (Words{2, 8, kWidth})) << "UNORM_INT8, RGBA";
    EXPECT_EQ(is[12], 0016u) << "border, mirror, wrap";
    EXPECT_EQ(is[14], 0x00500000u);
    ResourceDescription told_resource{};
    TextureDescription told_sampling{};
    ViewDescription told_view{.format = 9};
    EXPECT_EQ(hipGetTextureObjectResourceDesc(&told_resource, texture), hipSuccess);
    EXPECT_EQ(told_resource.array, array);
    EXPECT_EQ(hipGetTextureObjectTextureDesc(&told_sampling, texture), hipSuccess);
    EXPECT_EQ(std::memcmp(&told_sampling, &sampling, sizeof sampling), 0);
    EXPECT_EQ(hipGetTextureObjectResourceViewDesc(&told_view, texture), hipSuccess);
    EXPECT_EQ(told_view.format, 0);
    EXPECT_EQ(hipGetTextureObjectResourceDesc(nullptr, texture), hipErrorInvalidValue);
    EXPECT_EQ(hipGetTextureObjectTextureDesc(&told_sampling, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipGetTextureObjectResourceViewDesc(nullptr, texture), hipErrorInvalidValue);
    EXPECT_EQ(hipDestroyTextureObject(texture), hipSuccess);
    EXPECT_EQ(hipDestroyTextureObject(texture), hipErrorInvalidValue) << "destroyed twice";
    EXPECT_EQ(hipDestroyTextureObject(nullptr), hipSuccess);
    // A view of four bytes as two shorts: format 28 (16_16_SINT).
    ViewDescription view{.format = 11, .width = kWidth, .height = kHeight};
    sampling.read = 0;
    EXPECT_EQ(hipCreateTextureObject(&texture, &resource, &sampling, &view), hipSuccess);
    EXPECT_EQ(words_of(texture)[1] >> 20 & 0xff, 28u);
    EXPECT_EQ(hipDestroyTextureObject(texture), hipSuccess);
    // Texels of sRGB are bytes that are read as floats: format 66 (8_8_8_8_SRGB), order 14 (SRGBA).
    sampling.srgb = 1;
    EXPECT_EQ(hipCreateTextureObject(&texture, &resource, &sampling, nullptr), hipErrorInvalidValue) << "as bytes";
    sampling.read = 1;
    EXPECT_EQ(hipCreateTextureObject(&texture, &resource, &sampling, nullptr), hipSuccess);
    EXPECT_EQ((Words{words_of(texture)[1] >> 20 & 0xff, words_of(texture)[9]}), (Words{66, 14}));
    EXPECT_EQ(hipDestroyTextureObject(texture), hipSuccess);
    sampling.srgb = sampling.read = 0;
    view.format = 0x18;
    EXPECT_EQ(hipCreateTextureObject(&texture, &resource, &sampling, &view), hipErrorInvalidValue) << "16 bytes of 4";
    view.format = 0x19;
    EXPECT_EQ(hipCreateTextureObject(&texture, &resource, &sampling, &view), hipErrorInvalidValue) << "compressed";
    EXPECT_EQ(hipFreeArray(array), hipSuccess);
}

TEST_F(Textures, ObjectsThatCannotBeAreRefused) {
    void* const array = make(kWidth, kHeight);
    void* const memory = filled(Words(256));
    ResourceDescription resource = of(array);
    const TextureDescription sampling{.normalized = 1};
    void* texture = nullptr;
    EXPECT_EQ(hipCreateTextureObject(nullptr, &resource, &sampling, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipCreateTextureObject(&texture, nullptr, &sampling, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipCreateTextureObject(&texture, &resource, nullptr, nullptr), hipErrorInvalidValue);
    const auto code = [&](const ResourceDescription& r, const TextureDescription& s,
                          const ViewDescription* v = nullptr) { return hipCreateTextureObject(&texture, &r, &s, v); };
    EXPECT_EQ(code(of(nullptr), sampling), hipErrorInvalidValue);
    EXPECT_EQ(code(of(memory), sampling), hipErrorInvalidValue) << "no array";
    EXPECT_EQ(code(resource, {.address = {4}}), hipErrorInvalidValue);
    EXPECT_EQ(code(resource, {.address = {0, 0, -1}}), hipErrorInvalidValue);
    EXPECT_EQ(code(resource, {.filter = 2}), hipErrorInvalidValue);
    EXPECT_EQ(code(resource, {.read = -1}), hipErrorInvalidValue);
    EXPECT_EQ(code(resource, {.anisotropy = 1}), hipErrorNotSupported);
    EXPECT_EQ(code(resource, {.level_bias = 1}), hipErrorNotSupported);
    resource.kind = kOfMipmaps;
    EXPECT_EQ(code(resource, sampling), hipErrorNotSupported);
    resource.kind = 7;
    EXPECT_EQ(code(resource, sampling), hipErrorInvalidValue);
    const ViewDescription view{};
    EXPECT_EQ(code(of_line(memory, 256), sampling, &view), hipErrorInvalidValue) << "views are of arrays";
    EXPECT_EQ(code(of_line(memory, 2000), sampling), hipErrorInvalidValue) << "beyond the memory";
    EXPECT_EQ(code(of_line(static_cast<char*>(memory) + 4, 64), sampling), hipErrorInvalidValue) << "alignment";
    EXPECT_EQ(code(of_line(nullptr, 64), sampling), hipErrorInvalidValue);
    EXPECT_EQ(code(of_line(memory, 0), sampling), hipErrorInvalidValue);
    EXPECT_EQ(code(of_rows(memory, 8, 2, 100), sampling), hipErrorInvalidValue) << "pitch";
    EXPECT_EQ(code(of_rows(memory, 8, 5, 256), sampling), hipErrorInvalidValue) << "beyond the memory";
    EXPECT_EQ(code(of_rows(memory, 65, 2, 256), sampling), hipErrorInvalidValue) << "wider than the pitch";
    EXPECT_EQ(code(of_rows(memory, 8, 4, 256), sampling), hipSuccess);
    EXPECT_EQ(words_of(texture)[4], 63u);
    EXPECT_EQ(hipDestroyTextureObject(texture), hipSuccess);
    EXPECT_EQ(code(of_line(memory, 1024), sampling), hipSuccess);
    const Words is = words_of(texture);  // RDNA3 ISA 9.1.8: base, stride, records; 32_FLOAT
    EXPECT_EQ(is[0], static_cast<uint32_t>(reinterpret_cast<uintptr_t>(memory)));
    EXPECT_EQ((Words{is[1] >> 16, is[2], is[3] >> 12 & 63}), (Words{4, 256, 22}));
    EXPECT_EQ(hipDestroyTextureObject(texture), hipSuccess);
    free_all({memory});
    EXPECT_EQ(hipFreeArray(array), hipSuccess);
    size_t texels = 0;
    EXPECT_EQ(hipDeviceGetTexture1DLinearMaxWidth(&texels, &kFloat, 0), hipSuccess);
    EXPECT_EQ(texels, size_t{1} << 25) << "2^27 bytes, as AMD's library counts";
    EXPECT_EQ(hipDeviceGetTexture1DLinearMaxWidth(nullptr, &kFloat, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipDeviceGetTexture1DLinearMaxWidth(&texels, &kFloat, 99), hipErrorInvalidDevice);
}

TEST_F(Textures, ObjectsAreMadeByTheStructsOfDriversToo) {
    void* const memory = filled(Words(256));
    DriverResourceDescription resource{};
    resource.kind = kOfRows;
    resource.rows = {memory, kFloatFormat, 1, 8, 4, 256};
    const DriverTextureDescription sampling{.address = {1, 1, 1}, .filter = 1, .flags = 2, .border = {1, 2, 3, 4}};
    void* texture = nullptr;
    EXPECT_EQ(hipTexObjectCreate(&texture, &resource, &sampling, nullptr), hipSuccess);
    EXPECT_EQ(words_of(texture)[12], 0222u) << "normalized, clamped to the last texel";
    DriverResourceDescription told_resource{};
    DriverTextureDescription told_sampling{};
    DriverViewDescription told_view{};
    EXPECT_EQ(hipTexObjectGetResourceDesc(&told_resource, texture), hipSuccess);
    EXPECT_EQ(std::memcmp(&told_resource, &resource, sizeof resource), 0);
    EXPECT_EQ(hipTexObjectGetTextureDesc(&told_sampling, texture), hipSuccess);
    EXPECT_EQ(std::memcmp(&told_sampling, &sampling, sizeof sampling), 0);
    EXPECT_EQ(hipTexObjectGetResourceViewDesc(&told_view, texture), hipSuccess);
    EXPECT_EQ(hipTexObjectGetResourceDesc(nullptr, texture), hipErrorInvalidValue);
    EXPECT_EQ(hipTexObjectGetTextureDesc(&told_sampling, memory), hipErrorInvalidValue) << "no texture";
    EXPECT_EQ(hipTexObjectGetResourceViewDesc(nullptr, texture), hipErrorInvalidValue);
    EXPECT_EQ(hipTexObjectDestroy(texture), hipSuccess);
    EXPECT_EQ(hipTexObjectDestroy(texture), hipErrorInvalidValue);
    EXPECT_EQ(hipTexObjectCreate(&texture, nullptr, &sampling, nullptr), hipErrorInvalidValue);
    resource.rows.format = 0x33;
    EXPECT_EQ(hipTexObjectCreate(&texture, &resource, &sampling, nullptr), hipErrorInvalidValue) << "no format";
    free_all({memory});
}

TEST_F(Textures, SurfacesAreOfArraysThatPermitThem) {
    void *const array = make(kWidth, kHeight), *const layers = make(kWidth, kHeight, kDepth, kLayered);
    ResourceDescription resource = of(array);
    void* surface = nullptr;
    EXPECT_EQ(_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc(&surface, &resource), hipSuccess);
    EXPECT_EQ(words_of(surface)[3], 0x90000204u) << "one channel, then zeros and one";
    EXPECT_EQ(_Z23hipDestroySurfaceObjectP13__hip_surface(surface), hipSuccess);
    EXPECT_EQ(_Z23hipDestroySurfaceObjectP13__hip_surface(surface), hipErrorInvalidValue) << "destroyed twice";
    EXPECT_EQ(_Z23hipDestroySurfaceObjectP13__hip_surface(nullptr), hipSuccess);
    EXPECT_EQ(_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc(nullptr, &resource), hipErrorInvalidValue);
    EXPECT_EQ(_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc(&surface, nullptr), hipErrorInvalidValue);
    resource = of(layers);
    EXPECT_EQ(_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc(&surface, &resource), hipErrorInvalidValue)
        << "made without hipArraySurfaceLoadStore";
    resource.kind = kOfLine;
    EXPECT_EQ(_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc(&surface, &resource),
              hipErrorInvalidValue);
    for (void* each : {array, layers}) EXPECT_EQ(hipFreeArray(each), hipSuccess);
}

TEST_F(Textures, AreGoneBehindAReset) {
    void* const array = make(kWidth, kHeight);
    const ResourceDescription resource = of(array);
    const TextureDescription sampling{.normalized = 1};
    void *texture = nullptr, *surface = nullptr;
    ASSERT_EQ(hipCreateTextureObject(&texture, &resource, &sampling, nullptr), hipSuccess);
    ASSERT_EQ(_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc(&surface, &resource), hipSuccess);
    ASSERT_EQ(hipDeviceReset(), hipSuccess);
    ResourceDescription told{};
    EXPECT_EQ(hipGetTextureObjectResourceDesc(&told, texture), hipErrorInvalidValue);
    EXPECT_EQ(hipDestroyTextureObject(texture), hipErrorInvalidValue);
    EXPECT_EQ(_Z23hipDestroySurfaceObjectP13__hip_surface(surface), hipErrorInvalidValue);
    ChannelFormat channels{};
    EXPECT_EQ(hipGetChannelDesc(&channels, array), hipErrorInvalidHandle);
    Words rows(kWidth);
    EXPECT_EQ(hipMemcpy2DToArray(array, 0, 0, rows.data(), kWidth * 4, kWidth * 4, 1, kToDevice),
              hipErrorInvalidHandle);
    EXPECT_EQ(hipFreeArray(array), hipErrorContextIsDestroyed);
}

/// A module with a variable as large as a reference.
isa::Bytes module_with_reference() {
    const std::string variable =
        ".data\n.globl of_module\n.type of_module,@object\n.p2align 4\nof_module:\n .zero 88\n.size of_module, 88\n";
    std::string text(kAddOne);
    return isa::assemble(text.insert(text.find(".rodata"), variable), isa::Arch::gfx1100).value();
}

class References : public Textures {
  protected:
    void SetUp() override {
        Textures::SetUp();
        memory = filled(Words(256));
        array = make(kWidth, kHeight, 0, 0, kBytes4);
        ASSERT_EQ(hipModuleLoadData(&module, module_with_reference().data()), hipSuccess);
        ASSERT_EQ(hipModuleGetTexRef(&handle, module, "of_module"), hipSuccess);
    }
    void TearDown() override {
        EXPECT_EQ(hipUnbindTexture(handle), hipSuccess);
        EXPECT_EQ(hipFreeArray(array), hipSuccess);
        free_all({memory});
        EXPECT_EQ(hipModuleUnload(module), hipSuccess);
    }
    TextureReference& reference() { return *static_cast<TextureReference*>(handle); }

    void *module = nullptr, *handle = nullptr, *memory = nullptr, *array = nullptr;
};

TEST_F(References, OfModulesTellWhatTheyAreSetTo) {
    void* got = nullptr;
    EXPECT_EQ(hipModuleGetTexRef(&got, module, "of_module"), hipSuccess);
    EXPECT_EQ(got, handle);
    EXPECT_EQ(hipModuleGetTexRef(&got, module, "no_such"), hipErrorNotFound);
    EXPECT_EQ(hipModuleGetTexRef(nullptr, module, "of_module"), hipErrorInvalidValue);
    const void* known = nullptr;
    EXPECT_EQ(hipGetTextureReference(&known, handle), hipSuccess);
    EXPECT_EQ(known, handle);
    EXPECT_EQ(hipGetTextureReference(&known, &known), hipErrorInvalidSymbol);
    EXPECT_EQ(hipTexRefSetFormat(handle, kFloatFormat, 1), hipSuccess);
    EXPECT_EQ(hipTexRefSetFlags(handle, 3), hipSuccess);
    EXPECT_EQ(hipTexRefSetFilterMode(handle, 1), hipSuccess);
    EXPECT_EQ(hipTexRefSetAddressMode(handle, 1, 2), hipSuccess);
    EXPECT_EQ(hipTexRefSetAddressMode(handle, 3, 2), hipErrorInvalidValue);
    EXPECT_EQ(hipTexRefSetMipmapFilterMode(handle, 1), hipSuccess);
    EXPECT_EQ(hipTexRefSetMipmapLevelClamp(handle, 1, 2), hipSuccess);
    int format = 0, count = 0, mode = 0;
    unsigned flags = 0;
    float least = 0, greatest = 0;
    EXPECT_EQ(hipTexRefGetFormat(&format, &count, handle), hipSuccess);
    EXPECT_EQ((std::array{format, count}), (std::array{kFloatFormat, 1}));
    EXPECT_EQ(hipTexRefGetFlags(&flags, handle), hipSuccess);
    EXPECT_EQ(flags, 3u);
    EXPECT_EQ(hipTexRefGetFilterMode(&mode, handle), hipSuccess);
    EXPECT_EQ(mode, 1);
    EXPECT_EQ(hipTexRefGetAddressMode(&mode, handle, 1), hipSuccess);
    EXPECT_EQ(mode, 2);
    EXPECT_EQ(hipTexRefGetAddressMode(&mode, handle, -1), hipErrorInvalidValue);
    EXPECT_EQ(hipTexRefGetMipmapFilterMode(&mode, handle), hipSuccess);
    EXPECT_EQ(mode, 1);
    EXPECT_EQ(hipTexRefGetMipmapLevelClamp(&least, &greatest, handle), hipSuccess);
    EXPECT_EQ((std::array{least, greatest}), (std::array{1.f, 2.f}));
}

TEST_F(References, ThatAskForWhatTexturesDoNotHaveAreNotBound) {
    int most = -1;
    float bias = 1;
    EXPECT_EQ(hipTexRefSetMaxAnisotropy(handle, 4), hipSuccess);
    EXPECT_EQ(hipTexRefGetMaxAnisotropy(&most, handle), hipSuccess);
    EXPECT_EQ(most, 4);
    EXPECT_EQ(hipTexRefSetMipmapLevelBias(handle, 2), hipSuccess);
    EXPECT_EQ(hipTexRefGetMipmapLevelBias(&bias, handle), hipSuccess);
    EXPECT_EQ(bias, 2);
    EXPECT_EQ(hipTexRefSetFormat(handle, kFloatFormat, 1), hipSuccess);
    EXPECT_EQ(hipTexRefSetAddress(nullptr, handle, memory, 1024), hipErrorNotSupported) << "anisotropy";
    EXPECT_EQ(hipTexRefSetMaxAnisotropy(handle, 0), hipSuccess);
    EXPECT_EQ(hipTexRefSetMipmapLevelBias(handle, 0), hipSuccess);
    EXPECT_EQ(hipTexRefSetAddress(nullptr, handle, memory, 1024), hipSuccess);
}

TEST_F(References, OfModulesAreBoundToMemoryAndKernelsSeeIt) {
    void *variable = nullptr, *got = nullptr;
    EXPECT_EQ(hipTexRefSetFormat(handle, kFloatFormat, 1), hipSuccess);
    size_t offset = 9, bytes = 0;
    EXPECT_EQ(hipTexRefSetAddress(&offset, handle, static_cast<char*>(memory) + 8, 64), hipSuccess);
    EXPECT_EQ(offset, 8u) << "bytes after the last multiple of 256";
    EXPECT_EQ(hipTexRefGetAddress(&got, handle), hipSuccess);
    EXPECT_EQ(got, memory);
    EXPECT_EQ(words_of(reference().object)[2], 18u) << "texels from there on";
    EXPECT_EQ(hipModuleGetGlobal(&variable, &bytes, module, "of_module"), hipSuccess);
    TextureReference there{};
    EXPECT_EQ(hipMemcpyDtoH(&there, variable, sizeof there), hipSuccess);
    EXPECT_EQ(there.object, reference().object) << "kernels see the object";
    EXPECT_EQ(hipTexRefSetAddress(nullptr, handle, static_cast<char*>(memory) + 8, 64), hipErrorInvalidValue);
    EXPECT_EQ(hipTexRefSetAddress(&offset, handle, nullptr, 64), hipErrorInvalidValue);
    EXPECT_EQ(hipTexRefGetArray(&got, handle), hipErrorInvalidValue) << "it is of memory";
    const ArrayDescriptor plane{8, 4, kFloatFormat, 1};
    EXPECT_EQ(hipTexRefSetAddress2D(handle, &plane, memory, 256), hipSuccess);
    EXPECT_EQ(hipTexRefSetAddress2D(handle, &plane, memory, 0), hipErrorInvalidValue);
}

TEST_F(References, OfModulesAreBoundToArrays) {
    void* got = nullptr;
    EXPECT_EQ(hipTexRefSetArray(handle, array, 1), hipSuccess);
    EXPECT_EQ(hipTexRefGetArray(&got, handle), hipSuccess);
    EXPECT_EQ(got, array);
    EXPECT_EQ((std::array{reference().format, reference().count}), (std::array{kByteFormat, 4})) << "of the array";
    EXPECT_EQ(hipTexRefGetAddress(&got, handle), hipErrorInvalidValue) << "it is of an array";
    EXPECT_EQ(hipTexRefSetArray(handle, array, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipTexRefSetArray(nullptr, array, 1), hipErrorInvalidValue);
}

TEST_F(References, AreBoundAnewBehindAReset) {
    ASSERT_EQ(hipTexRefSetArray(handle, array, 1), hipSuccess);
    ASSERT_EQ(hipDeviceReset(), hipSuccess);
    memory = filled(Words(256));
    array = make(kWidth, kHeight, 0, 0, kBytes4);
    EXPECT_EQ(hipTexRefSetArray(handle, array, 1), hipSuccess);
}

TEST_F(References, AreBoundByTheCallsForVariablesOfPrograms) {
    size_t offset = 9;
    EXPECT_EQ(hipBindTexture(&offset, handle, memory, &kFloat, 0xffffffff), hipSuccess);
    EXPECT_EQ(words_of(reference().object)[2], 256u) << "all there is";
    EXPECT_EQ(hipBindTexture(&offset, handle, memory, nullptr, 64), hipErrorInvalidValue);
    EXPECT_EQ(hipBindTexture2D(&offset, handle, memory, &kFloat, 8, 4, 256), hipSuccess);
    EXPECT_EQ(hipBindTexture2D(&offset, handle, memory, &kFloat, 8, 4, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipBindTextureToArray(handle, array, &kBytes4), hipSuccess);
    EXPECT_EQ(hipBindTextureToArray(handle, memory, &kBytes4), hipErrorInvalidValue) << "no array";
    EXPECT_EQ(hipGetTextureAlignmentOffset(&offset, handle), hipSuccess);
    EXPECT_EQ(offset, 0u);
    EXPECT_EQ(hipUnbindTexture(handle), hipSuccess);
    EXPECT_EQ(reference().object, nullptr);
    EXPECT_EQ(hipUnbindTexture(nullptr), hipErrorInvalidValue);
    TextureReference unknown{};
    EXPECT_EQ(hipBindTextureToArray(&unknown, array, &kBytes4), hipErrorInvalidSymbol) << "no variable of a program";
}

}  // namespace
}  // namespace strata::hip::library
