#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The protocol between a process and its LLVM service: lists of byte strings over a stream socket.
namespace strata::isa {

using Message = std::vector<std::string>;
using Deadline = std::chrono::steady_clock::time_point;

// The service is asked with one of these and what it needs, and answers with one of them and what it has.
inline constexpr std::string_view kAssemble = "assemble";  ///< folder, cpu, features, text
inline constexpr std::string_view kHello = "hello";        ///< whether LLVM can be loaded
inline constexpr std::string_view kObject = "object";      ///< an ELF object; of hello: nothing
inline constexpr std::string_view kErrors = "errors";      ///< LLVM's diagnostics
inline constexpr std::string_view kMissing = "missing";    ///< why there is no LLVM

constexpr int kServiceSocket = 0;                     ///< file descriptor of the service's end
constexpr std::chrono::seconds kMostSeconds{10};      ///< for one text
constexpr std::chrono::seconds kIdleSeconds{60};      ///< after which the service ends
constexpr uint64_t kMostMemory = uint64_t{1} << 30;   ///< of the service's address space
constexpr uint64_t kMostBytes = uint64_t{256} << 20;  ///< of a message

enum class Transfer { all, late, closed };

// Both throw Interrupted: then the two no longer agree where a message begins.
Transfer send_message(int socket, const Message& message, Deadline deadline);
/// `message` is whole only where the answer is `all`. A message of more than kMostBytes counts as closed.
Transfer receive_message(int socket, Message& message, Deadline deadline);

}  // namespace strata::isa
