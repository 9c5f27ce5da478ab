#include <dlfcn.h>
#include <gtest/gtest.h>

#include <random>

#include "host_tools.h"
#include "strata/asm/llvm/assemble.h"
#include "strata/asm/object/code_object.h"

namespace strata::isa {
namespace {

constexpr std::string_view kCode = "s_load_b64 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v1, 0\ns_endpgm\n";

std::vector<uint32_t> words(std::string_view text, Arch arch, int wave_size = 0) {
    return assemble_instructions(text, arch, wave_size).value();
}

KernelSpec spec(std::string name) {
    KernelSpec kernel;
    kernel.name = std::move(name);
    kernel.code = words(kCode, Arch::gfx1100);
    kernel.args = {{0, 8, "global_buffer", "data", "global"}, {8, 4, "by_value", "n"}};
    kernel.kernarg_size = 12;
    kernel.lds = 512;
    kernel.vgprs = 9;
    kernel.sgprs = 6;
    kernel.max_block = 256;
    return kernel;
}

TEST(write_code_object, IsReadBackWithAllThatTheSpecsSay) {
    std::vector<KernelSpec> specs = {spec("first"), spec("second")};
    specs[1].workitem_id_dims = 2;
    specs[1].workgroup_ids = {true, true, true};
    specs[1].scratch = 64;
    specs[1].dispatch_ptr = true;
    Result<Bytes> image = write_code_object(Arch::gfx1100, specs);
    ASSERT_TRUE(image) << image.error().message;
    Result<CodeObject> object = CodeObject::parse(*image);
    ASSERT_TRUE(object) << object.error().message;
    EXPECT_EQ(object->abi_version, 5);
    ASSERT_EQ(object->kernels.size(), 2u);
    for (int i = 0; i < 2; ++i) {
        const KernelInfo& kernel = object->kernels[i];
        EXPECT_EQ(kernel.name, specs[i].name);
        EXPECT_EQ(kernel.kernarg_size, 12u);
        EXPECT_EQ(kernel.lds, 512u);
        EXPECT_EQ(kernel.vgprs, 9u);
        EXPECT_EQ(kernel.sgprs, 6u);
        EXPECT_EQ(kernel.max_block, 256u);
        EXPECT_EQ(kernel.wave_size, 32u);
        ASSERT_EQ(kernel.args.size(), 2u);
        EXPECT_EQ(kernel.args[0].address_space, "global");
        EXPECT_EQ(kernel.args[1].name, "n");
        EXPECT_EQ(kernel.args[1].offset, 8u);
        EXPECT_EQ(kernel.entry_address % 256, 0u);
        EXPECT_EQ(kernel.descriptor.vgprs(info(Arch::gfx1100)), 16);
        const Segment* code = nullptr;
        for (const Segment& segment : object->segments)
            if (segment.executable) code = &segment;
        ASSERT_NE(code, nullptr);
        EXPECT_EQ(std::memcmp(code->bytes.data() + (kernel.entry_address - code->address), specs[i].code.data(),
                              specs[i].code.size() * 4),
                  0);
    }
    const KernelDescriptor &first = object->kernels[0].descriptor, &second = object->kernels[1].descriptor;
    EXPECT_EQ(first.user_sgprs(), 2);
    EXPECT_FALSE(first.workgroup_id(1));
    EXPECT_EQ(second.user_sgprs(), 4);
    EXPECT_TRUE(second.dispatch_ptr());
    EXPECT_TRUE(second.workgroup_id(2));
    EXPECT_EQ(second.workitem_id_dims(), 2);
    EXPECT_EQ(second.private_segment_fixed_size, 64u);
}

/// The same kernel once through the writer and once through LLVM's text assembler.
void expect_descriptor_of_llvm(Arch arch, int wave_size, const std::string& extra_directives, uint32_t agprs = 0,
                               uint32_t scratch = 0) {
    KernelSpec kernel = spec("k");
    kernel.agprs = agprs;
    kernel.scratch = scratch;
    kernel.code = words("s_endpgm", arch, wave_size);
    kernel.wave_size = wave_size;
    Result<Bytes> image = write_code_object(arch, {&kernel, 1});
    ASSERT_TRUE(image) << image.error().message;
    const std::string text =
        ".text\n.globl k\n.p2align 8\n.type k,@function\nk: s_endpgm\n.rodata\n.p2align 6\n.amdhsa_kernel k\n"
        ".amdhsa_group_segment_fixed_size 512\n.amdhsa_kernarg_size 12\n"
        ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_next_free_sgpr 6\n.amdhsa_float_denorm_mode_32 3\n"
        ".amdhsa_next_free_vgpr " +
        std::to_string(agprs ? 12 + agprs : 9) + "\n" + extra_directives + ".end_amdhsa_kernel\n";
    Result<Bytes> reference = assemble(text, arch);
    ASSERT_TRUE(reference) << reference.error().message;
    const CodeObject ours = CodeObject::parse(*image).value(), theirs = CodeObject::parse(*reference).value();
    const KernelDescriptor &a = ours.kernels.at(0).descriptor, &b = theirs.kernels.at(0).descriptor;
    EXPECT_EQ(a.rsrc1, b.rsrc1) << info(arch).name << " wave" << wave_size;
    EXPECT_EQ(a.rsrc2, b.rsrc2) << info(arch).name;
    EXPECT_EQ(a.rsrc3, b.rsrc3) << info(arch).name;
    EXPECT_EQ(a.properties, b.properties) << info(arch).name;
    EXPECT_EQ(a.kernarg_size, b.kernarg_size);
    EXPECT_EQ(a.group_segment_fixed_size, b.group_segment_fixed_size);
}

TEST(write_code_object, GivesTheDescriptorThatLlvmGives) {
    expect_descriptor_of_llvm(Arch::gfx1100, 32, "");
    expect_descriptor_of_llvm(Arch::gfx1100, 64, ".amdhsa_wavefront_size32 0\n");
    expect_descriptor_of_llvm(Arch::gfx1201, 32, "");
    expect_descriptor_of_llvm(Arch::gfx942, 64, ".amdhsa_accum_offset 12\n");
    expect_descriptor_of_llvm(Arch::gfx90a, 64, ".amdhsa_accum_offset 12\n");
    for (uint32_t agprs : {1u, 4u, 5u, 32u, 256u})
        for (Arch arch : {Arch::gfx942, Arch::gfx90a})
            expect_descriptor_of_llvm(arch, 64, ".amdhsa_accum_offset 12\n", agprs);
    expect_descriptor_of_llvm(Arch::gfx942, 64,
                              ".amdhsa_accum_offset 12\n.amdhsa_private_segment_fixed_size 64\n"
                              ".amdhsa_enable_private_segment 1\n",
                              0, 64);
    expect_descriptor_of_llvm(Arch::gfx90a, 64,
                              ".amdhsa_accum_offset 12\n.amdhsa_private_segment_fixed_size 64\n"
                              ".amdhsa_user_sgpr_flat_scratch_init 1\n"
                              ".amdhsa_system_sgpr_private_segment_wavefront_offset 1\n",
                              0, 64);
}

TEST(write_code_object, PlacesEachKernelsConstantsAndTheDistancesToThem) {
    std::vector<KernelSpec> specs = {spec("first"), spec("second")};
    for (KernelSpec& kernel : specs) {
        kernel.constants = Bytes(300, kernel.name == "first" ? 0x11 : 0x22);
        kernel.constants[290] = 0x77;
        kernel.code = std::vector<uint32_t>(8, 0);
        kernel.references = {{3, 290, 4, false}, {5, 290, 12, true}};
    }
    Result<Bytes> image = write_code_object(Arch::gfx1100, specs);
    ASSERT_TRUE(image) << image.error().message;
    const CodeObject object = CodeObject::parse(*image).value();
    auto byte_at = [&](uint64_t address) -> int {
        for (const Segment& segment : object.segments)
            if (address >= segment.address && address - segment.address < segment.bytes.size())
                return segment.bytes[address - segment.address];
        return -1;
    };
    auto word_at = [&](uint64_t address) {
        uint32_t word = 0;
        for (int i = 0; i < 4; ++i) word |= static_cast<uint32_t>(byte_at(address + i)) << (8 * i);
        return word;
    };
    for (const KernelInfo& kernel : object.kernels) {
        const uint64_t low = kernel.entry_address + 12, high = kernel.entry_address + 20;
        const uint64_t distance = word_at(low) | uint64_t{word_at(high)} << 32;
        const uint64_t address = low - 4 + distance;  // both count from the word before the low half
        EXPECT_EQ(byte_at(address), 0x77);
        EXPECT_EQ(byte_at(address + 1), kernel.name == "first" ? 0x11 : 0x22);
    }
    test::TemporaryFolder folder;
    test::write_file(folder.file("k.co"), *image);
    test::CommandResult readelf = test::run("llvm-readelf-19 -a " + folder.file("k.co"));
    EXPECT_EQ(readelf.status, 0);
    EXPECT_EQ(readelf.output.find("warning"), std::string::npos) << readelf.output;

    specs[0].references[0].offset = 300;
    EXPECT_FALSE(write_code_object(Arch::gfx1100, specs));
}

TEST(write_code_object, IsAcceptedByReadelfAndObjdump) {
    for (Arch arch : {Arch::gfx1100, Arch::gfx1201, Arch::gfx942, Arch::gfx90a}) {
        KernelSpec kernel = spec("k");
        kernel.code = words("s_nop 0\ns_endpgm", arch);
        kernel.wave_size = info(arch).wave_size;
        Result<Bytes> image = write_code_object(arch, {&kernel, 1});
        ASSERT_TRUE(image) << image.error().message;
        test::TemporaryFolder folder;
        test::write_file(folder.file("k.co"), *image);
        test::CommandResult readelf = test::run("llvm-readelf-19 -a " + folder.file("k.co"));
        EXPECT_EQ(readelf.status, 0);
        EXPECT_EQ(readelf.output.find("warning"), std::string::npos) << readelf.output;
        EXPECT_NE(readelf.output.find("k.kd"), std::string::npos) << readelf.output;
        EXPECT_NE(readelf.output.find(".max_flat_workgroup_size: 256"), std::string::npos) << readelf.output;
        EXPECT_NE(readelf.output.find("amdgcn-amd-amdhsa--" + std::string(info(arch).name)), std::string::npos);
        test::CommandResult objdump = test::run("llvm-objdump-19 -d " + folder.file("k.co"));
        EXPECT_EQ(objdump.status, 0);
        EXPECT_NE(objdump.output.find("<k>:"), std::string::npos) << objdump.output;
        EXPECT_NE(objdump.output.find("s_endpgm"), std::string::npos) << objdump.output;
    }
}

/// The few functions of AMD's code object manager that HIP uses to find kernels.
struct Comgr {
    struct Handle {
        uint64_t value = 0;
    };
    static constexpr int kExecutable = 0x8;
    void* library = dlopen("libamd_comgr.so.2", RTLD_NOW | RTLD_LOCAL);
    template <class F>
    F* function(const char* name) const {
        return reinterpret_cast<F*>(dlsym(library, name));
    }
};

TEST(write_code_object, IsAcceptedByAmdComgr) {
    Comgr comgr;
    if (!comgr.library) GTEST_SKIP() << "libamd_comgr.so.2 is not installed (Debian package libamd-comgr2)";
    using Handle = Comgr::Handle;
    std::vector<KernelSpec> specs = {spec("first"), spec("second")};
    Result<Bytes> image = write_code_object(Arch::gfx1100, specs);
    ASSERT_TRUE(image);
    Handle data, metadata, kernels;
    ASSERT_EQ(comgr.function<int(int, Handle*)>("amd_comgr_create_data")(Comgr::kExecutable, &data), 0);
    ASSERT_EQ(comgr.function<int(Handle, size_t, const char*)>("amd_comgr_set_data")(
                  data, image->size(), reinterpret_cast<const char*>(image->data())),
              0);
    ASSERT_EQ(comgr.function<int(Handle, Handle*)>("amd_comgr_get_data_metadata")(data, &metadata), 0);
    ASSERT_EQ(comgr.function<int(Handle, const char*, Handle*)>("amd_comgr_metadata_lookup")(metadata, "amdhsa.kernels",
                                                                                             &kernels),
              0);
    size_t count = 0;
    ASSERT_EQ(comgr.function<int(Handle, size_t*)>("amd_comgr_get_metadata_list_size")(kernels, &count), 0);
    EXPECT_EQ(count, 2u);
    int symbols = 0;
    auto visit = +[](Handle, void* user) { return ++*static_cast<int*>(user), 0; };
    ASSERT_EQ(
        comgr.function<int(Handle, int (*)(Handle, void*), void*)>("amd_comgr_iterate_symbols")(data, visit, &symbols),
        0);
    EXPECT_EQ(symbols, 4);
    comgr.function<int(Handle)>("amd_comgr_destroy_metadata")(kernels);
    comgr.function<int(Handle)>("amd_comgr_destroy_metadata")(metadata);
    comgr.function<int(Handle)>("amd_comgr_release_data")(data);
}

TEST(write_code_object, FindsEachKernelThroughTheHashTableAsTheLoaderDoes) {
    std::vector<KernelSpec> specs;
    for (int i = 0; i < 50; ++i) specs.push_back(spec("kernel_" + std::to_string(i)));
    Result<Bytes> image = write_code_object(Arch::gfx1100, specs);
    ASSERT_TRUE(image);
    test::TemporaryFolder folder;
    test::write_file(folder.file("k.co"), *image);
    test::CommandResult readelf = test::run("llvm-readelf-19 --hash-symbols --histogram " + folder.file("k.co"));
    EXPECT_EQ(readelf.status, 0);
    EXPECT_EQ(readelf.output.find("warning"), std::string::npos) << readelf.output;
    for (const KernelSpec& kernel : specs)
        EXPECT_NE(readelf.output.find(" " + kernel.name + ".kd"), std::string::npos) << kernel.name;
}

TEST(write_code_object, RefusesWhatTheDeviceCannotRunAndSaysTheLimit) {
    auto message = [](auto change) {
        KernelSpec kernel = spec("k");
        change(kernel);
        Result<Bytes> image = write_code_object(Arch::gfx1100, {&kernel, 1});
        return image ? std::string() : image.error().message;
    };
    EXPECT_NE(message([](KernelSpec& k) { k.vgprs = 257; }).find("256"), std::string::npos);
    EXPECT_NE(message([](KernelSpec& k) { k.agprs = 1; }).find("accumulation"), std::string::npos);
    EXPECT_NE(message([](KernelSpec& k) { k.sgprs = 107; }).find("106"), std::string::npos);
    EXPECT_NE(message([](KernelSpec& k) { k.lds = 65537; }).find("65536"), std::string::npos);
    EXPECT_NE(message([](KernelSpec& k) { k.max_block = 2048; }).find("1024"), std::string::npos);
    EXPECT_NE(message([](KernelSpec& k) { k.code.clear(); }).find("no code"), std::string::npos);
    EXPECT_NE(message([](KernelSpec& k) { k.kernarg_size = 8; }).find("'n'"), std::string::npos);
    EXPECT_NE(message([](KernelSpec& k) { k.wave_size = 16; }).find("16 lanes"), std::string::npos);
    std::vector<KernelSpec> twice = {spec("k"), spec("k")};
    EXPECT_FALSE(write_code_object(Arch::gfx1100, twice));
    EXPECT_FALSE(write_code_object(Arch::gfx1100, {}));
}

TEST(write_code_object, CutOrDamagedNeverCrashesTheReader) {
    KernelSpec kernel = spec("k");
    Result<Bytes> image = write_code_object(Arch::gfx1100, {&kernel, 1});
    ASSERT_TRUE(image);
    for (size_t length = 0; length < image->size(); ++length)
        ASSERT_FALSE(CodeObject::parse(Bytes(image->begin(), image->begin() + length))) << length;
    std::mt19937 random(22);
    for (int round = 0; round < 6000; ++round) {
        Bytes damaged = *image;
        for (int hits = 1 + random() % 6; hits > 0; --hits)
            damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
        (void)CodeObject::parse(std::move(damaged));
    }
}

}  // namespace
}  // namespace strata::isa
