#include "strata/core/support/guarded.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <thread>
#include <vector>

namespace strata {
namespace {

constexpr size_t kPage = 4096;

/// Two pages, followed by one that is not mapped.
struct Pages {
    char* at = static_cast<char*>(mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    Pages() { mprotect(at + 2 * kPage, kPage, PROT_NONE); }
    ~Pages() { munmap(at, 3 * kPage); }
    Pages(const Pages&) = delete;
};

TEST(Guarded, MemoryThatIsNotThereIsNotCopiedAndNotCounted) {
    const Pages pages;
    std::vector<char> own(3 * kPage, 7);
    EXPECT_TRUE(copy_guarded(pages.at, own.data(), 2 * kPage));
    EXPECT_EQ(pages.at[2 * kPage - 1], 7);
    for (const size_t bytes : {2 * kPage + 1, 3 * kPage}) {
        EXPECT_FALSE(copy_guarded(pages.at, own.data(), bytes));
        EXPECT_FALSE(copy_guarded(own.data(), pages.at, bytes));
        EXPECT_FALSE(fill_guarded(pages.at, own.data(), 1, bytes));
    }
    EXPECT_TRUE(fill_guarded(pages.at, own.data(), 4, kPage / 2));
    EXPECT_FALSE(fill_guarded(pages.at, own.data(), 4, SIZE_MAX / 2));
    auto* const nowhere = reinterpret_cast<char*>(uint64_t{0xdead} << 48);
    EXPECT_FALSE(copy_guarded(nowhere, own.data(), 8));
    EXPECT_FALSE(copy_guarded(own.data(), nullptr, 8));
    EXPECT_TRUE(copy_guarded(nullptr, nullptr, 0));
    EXPECT_EQ(readable_bytes(pages.at, SIZE_MAX), 2 * kPage);
    EXPECT_EQ(readable_bytes(pages.at + 5, kPage), kPage);
    EXPECT_EQ(readable_bytes(pages.at + 2 * kPage, 1), 0u);
    EXPECT_EQ(readable_bytes(nowhere, 1), 0u);
}

TEST(Guarded, EachThreadHasItsOwnBodyAndWhatAnInnerOneMeetsIsNotTheOuters) {
    const Pages pages;
    const auto work = [&] {
        for (int i = 0; i < 2000; ++i) {
            char byte = 0;
            EXPECT_FALSE(copy_guarded(&byte, pages.at + 2 * kPage, 1));
            EXPECT_TRUE(copy_guarded(&byte, pages.at, 1));
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
    struct Both {
        char* gone;
        bool inner = true, ended = false;
    } both{pages.at + 2 * kPage};
    const auto body = [](void* context) {
        auto& own = *static_cast<Both*>(context);
        char byte = 0;
        own.inner = copy_guarded(&byte, own.gone, 1);
        own.ended = true;
    };
    EXPECT_FALSE(run_guarded(body, [](const void*, uint64_t) { return true; }, &both));
    EXPECT_FALSE(both.inner);
    EXPECT_TRUE(both.ended);
}

TEST(Guarded, AnExceptionLeavesABodyAsItIs) {
    const auto fails = [](void*) { throw std::runtime_error("no"); };
    const auto none = [](const void*, uint64_t) { return true; };
    EXPECT_THROW((void)run_guarded(fails, none, nullptr), std::runtime_error);
    const Pages pages;
    char byte = 0;
    EXPECT_FALSE(copy_guarded(&byte, pages.at + 2 * kPage, 1));
}

TEST(Guarded, SignalsOfOtherMemoryGoToTheHandlerBefore) {
    const Pages pages;
    const pid_t child = fork();
    if (child == 0) {
        static volatile char* gone = pages.at + 2 * kPage;
        signal(SIGSEGV, [](int) { _exit(42); });  // of a program that was there first, or came later
        char byte = 0;
        if (copy_guarded(&byte, pages.at, 1)) *gone = 1;
        _exit(1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 42);
}

}  // namespace
}  // namespace strata
