#include "strata/asm/llvm/service/serve.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>

#include "strata/asm/llvm/service/emit.h"
#include "strata/asm/llvm/service/wire.h"
#include "strata/core/support/sanitized.h"

namespace strata::isa {
namespace {

void limit(int what, rlim_t most) {
    const rlimit both{most, most};
    setrlimit(what, &both);
}

/// No text takes more than this process may have; it leaves no core files.
void limit_this_process() {
    limit(RLIMIT_CORE, 0);
#ifndef STRATA_SANITIZED  // whose shadow memory is larger
    limit(RLIMIT_AS, kMostMemory);
#endif
}

/// Ends this process when the parent's end is closed: also while LLVM is busy with a text. (PR_SET_PDEATHSIG would come
/// with the end of the thread that started the process.)
void end_with_parent(int socket) {
    std::thread([socket] {
        pollfd closed{socket, POLLRDHUP, 0};
        while (poll(&closed, 1, -1) < 0) {
        }
        _exit(0);
    }).detach();
}

Message answer(const Message& request, std::string_view folders) {
    const Result<LlvmApi>& api = llvm(folders);
    if (!api) return {std::string(kMissing), api.error().message};
    if (request.size() == 5 && request[0] == kAssemble) {
        // Files that a text includes are found from where its reader is.
        if (chdir(request[1].c_str()) != 0) return {std::string(kErrors), "the working folder does not exist"};
        Emitted emitted = emit_object(*api, request[4], request[2], request[3]);
        if (emitted.errors.empty()) return {std::string(kObject), std::move(emitted.object)};
        Message errors = std::move(emitted.errors);
        errors.insert(errors.begin(), std::string(kErrors));
        return errors;
    }
    return {std::string(kObject), ""};
}

}  // namespace

void serve(int socket, std::string_view folders) {
    limit_this_process();
    end_with_parent(socket);
    Message request;
    auto after = [](std::chrono::seconds time) { return std::chrono::steady_clock::now() + time; };
    while (receive_message(socket, request, after(kIdleSeconds)) == Transfer::all) {
        const Message reply = answer(request, folders);
        if (send_message(socket, reply, after(kMostSeconds)) != Transfer::all) return;
    }
}

}  // namespace strata::isa
