// Caches in random states: whatever lies in the folders, what is read is right or absent, nothing outside changes,
// nothing waits. STRATA_FUZZ_SEEDS=n tries n states from STRATA_FUZZ_SEED on, STRATA_FUZZ_SECONDS=s goes on for s
// seconds.
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "cache_folders.h"
#include "environment.h"
#include "strata/core/support/disk_cache.h"

namespace strata {
namespace {

namespace fs = std::filesystem;
using test::Scratch, test::snapshot, test::write_text;
using Random = std::mt19937_64;

constexpr int kKeys = 4;

std::string key(int i) { return "key " + std::to_string(i); }
std::string payload(int i) { return std::string(1000 + 777 * static_cast<size_t>(i), static_cast<char>('a' + i)); }

void change_bytes(Random& random, const std::string& path) {
    std::string bytes = read_file(path).value_or("");
    switch (random() % 4) {
        case 0: bytes.resize(bytes.empty() ? 0 : random() % bytes.size()); break;
        case 1: bytes.append(random() % 100 + 1, 'z'); break;
        case 2:
            for (char& c : bytes) c = static_cast<char>(random());
            break;
        default:
            if (!bytes.empty()) bytes[random() % bytes.size()] ^= static_cast<char>(random() % 255 + 1);
    }
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// One step towards a strange state: `path` and `other` are in the cache, `outside` is not.
void mutate(Random& random, const std::string& path, const std::string& other, const std::string& outside) {
    std::error_code ignored;
    const fs::file_type type = fs::symlink_status(path, ignored).type();
    const bool is_file = type == fs::file_type::regular, is_link = type == fs::file_type::symlink;
    const bool root = geteuid() == 0;
    switch (random() % 16) {
        case 0: fs::remove_all(path, ignored); return;
        case 1:
        case 2:
            if (!is_link) chmod(path.c_str(), random() % 2 ? 0777 : 0);
            return;
        case 3:
            if (root) [[maybe_unused]]
                int status = lchown(path.c_str(), 65534, 65534);
            return;
        case 4:
            if (is_file) truncate(path.c_str(), off_t{1} << 40);
            return;
        case 5:
        case 6:
            if (is_file && fs::file_size(path, ignored) < 1 << 20) change_bytes(random, path);
            return;
        case 7: fs::rename(other, path, ignored); return;
        default: fs::remove_all(path, ignored);
    }
    switch (random() % 8) {
        case 0: fs::create_symlink(outside, path, ignored); break;
        case 1: fs::create_symlink(outside + "/file", path, ignored); break;
        case 2: fs::create_symlink(outside + "/nowhere", path, ignored); break;
        case 3: fs::create_symlink(path, path, ignored); break;
        case 4: mkfifo(path.c_str(), 0600); break;
        case 5: write_text(path + "/deep/file", "text"); break;
        case 6: fs::create_hard_link(outside + ".donor", path, ignored); break;
        default:
            if (root) mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 5));  // /dev/zero: endless
    }
}

/// Reads and writes every key through a cache in whatever state; 0 when all that came back was right. Files for others
/// are looked at where nobody changes them in the meantime.
int use(const std::string& folder, bool files_are_still) {
    DiskCache cache(folder, 3000);
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < kKeys; ++i) {
            if (auto found = cache.get(CacheKind::objects, key(i)); found && *found != payload(i)) return 1;
            auto path = cache.get_file(CacheKind::precompiled_headers, key(i));
            if (files_are_still && path && read_file(*path) != payload(i)) return 2;
            cache.put(CacheKind::objects, key(i), payload(i));
            path = cache.put_file(CacheKind::precompiled_headers, key(i), payload(i));
            if (!path) return 3;
            if (files_are_still && read_file(*path) != payload(i)) return 4;
        }
        cache.trim();
    }
    return 0;
}

void fill(const std::string& folder) {
    DiskCache cache(folder);
    for (int i = 0; i < kKeys; ++i) {
        cache.put(CacheKind::objects, key(i), payload(i));
        cache.put_file(CacheKind::precompiled_headers, key(i), payload(i));
    }
}

std::vector<std::string> below(const std::string& folder) {
    std::vector<std::string> found = {folder};
    std::error_code ignored;
    if (fs::is_symlink(folder, ignored)) return found;
    for (auto at = fs::recursive_directory_iterator(folder, ignored); at != fs::recursive_directory_iterator();
         at.increment(ignored))
        found.push_back(at->path());
    return found;
}

/// Runs `body` in a child process that may take ten seconds; messages of the cache are not shown.
int in_time(const std::function<int()>& body) {
    pid_t child = fork();
    if (child == 0) {
        [[maybe_unused]] FILE* quiet = freopen("/dev/null", "w", stderr);
        alarm(10);
        _exit(body());
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(CacheFuzz, AnyStateOfTheFoldersGivesRightResultsAndLeavesTheRestAlone) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(number_of("STRATA_FUZZ_SECONDS", 0));
    const uint64_t first = number_of("STRATA_FUZZ_SEED", 0), seeds = number_of("STRATA_FUZZ_SEEDS", 24);
    uint64_t tried = 0;
    for (; tried < seeds || std::chrono::steady_clock::now() < end; ++tried) {
        const uint64_t seed = first + tried;
        SCOPED_TRACE(seed);
        Random random(seed);
        Scratch scratch;
        const std::string cache = scratch / "cache", outside = scratch / "outside";
        write_text(outside + "/file", payload(1));
        write_text(outside + ".donor", payload(1));
        write_text(outside + "/v2/objects/0123456789abcdef0123456789abcdef", "of the user");
        fill(cache);
        for (uint64_t steps = 1 + random() % 4; steps > 0; --steps) {
            const auto places = below(cache);
            mutate(random, places[random() % places.size()], places[random() % places.size()], outside);
        }
        auto before = snapshot(outside);
        ASSERT_EQ(in_time([&] { return use(cache, true); }), 0);
        ASSERT_EQ(snapshot(outside), before);
    }
    fmt::print("{} states of a cache from seed {}\n", tried, first);
}

TEST(CacheFuzz, ACacheThatVanishesAndChangesWhileItIsUsedGivesRightResults) {
    Scratch scratch;
    const std::string cache = scratch / "cache", outside = scratch / "outside";
    write_text(outside + "/file", payload(1));
    write_text(outside + ".donor", payload(1));
    auto before = snapshot(outside);
    std::atomic<bool> done{false};
    std::thread vandal([&] {
        Random random(1);
        while (!done) {
            const auto places = below(cache);
            mutate(random, places[random() % places.size()], places[random() % places.size()], outside);
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
        }
    });
    EXPECT_EQ(in_time([&] {
                  for (uint64_t i = 0; i < number_of("STRATA_FUZZ_SEEDS", 24); ++i)
                      if (int status = use(cache, false)) return status;
                  return 0;
              }),
              0);
    done = true;
    vandal.join();
    EXPECT_EQ(snapshot(outside), before);
}

}  // namespace
}  // namespace strata
