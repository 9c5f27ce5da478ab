#include "strata/core/support/mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <thread>

#include "strata/core/support/error.h"

namespace strata {
namespace {

/// The exit code of a child that runs `body`; -1 if it does not end in time.
template <class Body>
int in_child(Body body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    for (int i = 0; i < 2000; ++i, usleep(10'000))
        if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
}

TEST(Mutex, OfAnotherThreadsIsAnErrorInAChild) {
    Mutex mutex;
    std::atomic<int> step{0};
    std::thread holder([&] {
        std::lock_guard lock(mutex);
        step = 1;
        while (step != 2) usleep(1000);
    });
    while (step != 1) usleep(1000);
    EXPECT_EQ(in_child([&] {
                  try {
                      mutex.lock();
                  } catch (const Exception& e) {
                      return e.kind() == ErrorKind::Device ? 7 : 8;
                  }
                  return 9;
              }),
              7);
    step = 2;
    holder.join();
    std::lock_guard still_works(mutex);
}

TEST(Mutex, IsAMutexInAChildToo) {
    Mutex mutex;
    mutex.lock();
    mutex.unlock();
    EXPECT_EQ(in_child([&] {
                  int count = 0;
                  auto add = [&] {
                      for (int i = 0; i < 10'000; ++i) {
                          std::lock_guard lock(mutex);
                          ++count;
                      }
                  };
                  std::thread a(add), b(add);
                  a.join();
                  b.join();
                  return count == 20'000 ? 7 : 8;
              }),
              7);
}

TEST(Mutex, ALongWaitInAChildForItsOwnThreadIsNoError) {
    Mutex mutex;
    EXPECT_EQ(in_child([&] {
                  mutex.lock();
                  std::thread waiting([&] { std::lock_guard lock(mutex); });
                  usleep(400'000);
                  mutex.unlock();
                  waiting.join();
                  return 7;
              }),
              7);
}

}  // namespace
}  // namespace strata
