#include "strata/codegen/compile/link_p.h"

#include <unistd.h>

#include <atomic>

#include "strata/core/support/file.h"
#include "strata/core/support/subprocess.h"

namespace strata::codegen {

Result<isa::Bytes> link_object(const Toolchain& tools, std::string_view object) {
    if (tools.linker.empty())
        return make_error(ErrorKind::Device, "ld.lld-19 is not in PATH; on Debian: apt install lld-19");
    static std::atomic<unsigned> serial{0};
    std::string base = fmt::format("{}/link{}", process_temp_folder(), serial++);
    std::string in = base + ".o", out = base + ".co";
    if (!write_file_atomically(in, object))
        return make_error(ErrorKind::Device, "cannot write {}; set TMPDIR to a folder that can be written", in);
    auto run =
        run_process({tools.linker, "-m", "elf64_amdgpu", "--no-undefined", "-shared", "--threads=1", "-o", out, in});
    auto linked = read_file(out);
    unlink(in.c_str());
    unlink(out.c_str());
    if (!run) return run.error();
    if (!run->ok() || !linked)
        return Error{.kind = ErrorKind::Compile,
                     .message = fmt::format("the kernel does not link: {}", run->err),
                     .log = run->err};
    return isa::Bytes(linked->begin(), linked->end());
}

}  // namespace strata::codegen
