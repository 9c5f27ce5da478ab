#include "strata/asm/llvm/service/wire.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "strata/core/support/interrupt.h"

namespace strata::isa {
namespace {

using Clock = std::chrono::steady_clock;

/// Waits until the socket can be read or written. Throws Interrupted.
Transfer wait_for(int socket, short what, Deadline deadline) {
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd waiting{socket, what, 0};
        const int ready = poll(&waiting, 1, static_cast<int>(std::clamp<int64_t>(left + 1, 0, kPollInterval.count())));
        poll_interrupt();
        if (ready > 0) return Transfer::all;
        if (ready < 0 && errno != EINTR) return Transfer::closed;
        if (ready == 0 && left <= 0) return Transfer::late;
    }
}

/// Moves `size` bytes by `step(done, rest)`, which is send or recv without waiting.
template <class Step>
Transfer move_bytes(int socket, size_t size, short what, Deadline deadline, Step step) {
    for (size_t done = 0; done < size;) {
        const ssize_t count = step(done, size - done);
        if (count > 0) {
            done += static_cast<size_t>(count);
        } else if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (const Transfer transfer = wait_for(socket, what, deadline); transfer != Transfer::all) return transfer;
        } else {
            return Transfer::closed;
        }
    }
    return Transfer::all;
}

Transfer receive_bytes(int socket, void* to, size_t size, Deadline deadline) {
    return move_bytes(socket, size, POLLIN, deadline, [&](size_t done, size_t rest) {
        return recv(socket, static_cast<char*>(to) + done, rest, MSG_DONTWAIT);
    });
}

}  // namespace

Transfer send_message(int socket, const Message& message, Deadline deadline) {
    std::string bytes;
    auto put = [&](uint64_t number) { bytes.append(reinterpret_cast<const char*>(&number), sizeof number); };
    put(message.size());
    for (const std::string& field : message) {
        put(field.size());
        bytes += field;
    }
    return move_bytes(socket, bytes.size(), POLLOUT, deadline, [&](size_t done, size_t rest) {
        return send(socket, bytes.data() + done, rest, MSG_DONTWAIT | MSG_NOSIGNAL);
    });
}

Transfer receive_message(int socket, Message& message, Deadline deadline) {
    message.clear();
    uint64_t count = 0, size = 0, all = 0;
    if (const Transfer transfer = receive_bytes(socket, &count, sizeof count, deadline); transfer != Transfer::all)
        return transfer;
    for (uint64_t i = 0; i < count; ++i) {
        if (const Transfer transfer = receive_bytes(socket, &size, sizeof size, deadline); transfer != Transfer::all)
            return transfer;
        if (size > kMostBytes - all) return Transfer::closed;
        all += size + sizeof size;
        std::string& field = message.emplace_back(size, '\0');
        if (const Transfer transfer = receive_bytes(socket, field.data(), size, deadline); transfer != Transfer::all)
            return transfer;
    }
    return Transfer::all;
}

}  // namespace strata::isa
