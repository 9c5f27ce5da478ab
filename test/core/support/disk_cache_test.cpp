#include "strata/core/support/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "strata/core/support/file.h"

namespace strata {
namespace {

namespace fs = std::filesystem;

class DiskCacheTest : public testing::Test {
  protected:
    DiskCacheTest() : folder_(testing::TempDir() + "strata-cache-XXXXXX") { EXPECT_TRUE(mkdtemp(folder_.data())); }
    ~DiskCacheTest() override { fs::remove_all(folder_); }

    std::string cache_folder() const { return folder_ + "/deep/cache"; }
    /// The entries below the cache folder.
    std::vector<std::string> files() const {
        std::vector<std::string> found;
        for (auto& entry : fs::recursive_directory_iterator(cache_folder()))
            if (entry.is_regular_file() && entry.path().filename() != "strata-cache") found.push_back(entry.path());
        return found;
    }

    std::string folder_;
};

TEST_F(DiskCacheTest, AnEntryIsReadBackAndKindsAndKeysAreApart) {
    DiskCache cache(cache_folder());
    std::string payload("bytes\0and more\xff", 15);
    cache.put(CacheKind::objects, "key", payload);
    EXPECT_EQ(cache.get(CacheKind::objects, "key"), payload);
    EXPECT_EQ(cache.get(CacheKind::includes, "key"), std::nullopt);
    EXPECT_EQ(cache.get(CacheKind::objects, "other"), std::nullopt);
    cache.put(CacheKind::objects, "key", "");
    EXPECT_EQ(cache.get(CacheKind::objects, "key"), "");
}

TEST_F(DiskCacheTest, FoldersAndEntriesAreForTheUserOnly) {
    DiskCache(cache_folder()).put(CacheKind::objects, "key", "payload");
    for (const std::string& path : {cache_folder(), cache_folder() + "/v2", cache_folder() + "/v2/objects"}) {
        struct stat entry{};
        ASSERT_EQ(stat(path.c_str(), &entry), 0) << path;
        EXPECT_EQ(entry.st_mode & 0777, 0700u) << path;
    }
    struct stat entry{};
    ASSERT_EQ(stat(files().at(0).c_str(), &entry), 0);
    EXPECT_EQ(entry.st_mode & 0777, 0600u);
}

TEST_F(DiskCacheTest, ADisabledCacheHoldsNothing) {
    DiskCache cache{std::string()};
    cache.put(CacheKind::objects, "key", "payload");
    EXPECT_EQ(cache.get(CacheKind::objects, "key"), std::nullopt);
    EXPECT_FALSE(cache.enabled());
}

TEST_F(DiskCacheTest, ADamagedEntryIsDroppedWhereverTheDamageIs) {
    DiskCache cache(cache_folder());
    cache.put(CacheKind::objects, "the key", "the payload");
    std::string file = files().at(0), good = *read_file(file);
    for (size_t at = 0; at < good.size(); ++at) {
        std::string bad = good;
        bad[at] ^= 0x10;
        ASSERT_TRUE(write_file_atomically(file, bad));
        EXPECT_EQ(cache.get(CacheKind::objects, "the key"), std::nullopt) << "byte " << at;
        EXPECT_FALSE(fs::exists(file)) << "byte " << at;
    }
    for (size_t size = 0; size < good.size(); ++size) {
        ASSERT_TRUE(write_file_atomically(file, std::string_view(good).substr(0, size)));
        EXPECT_EQ(cache.get(CacheKind::objects, "the key"), std::nullopt) << "size " << size;
    }
    ASSERT_TRUE(write_file_atomically(file, good + "x"));
    EXPECT_EQ(cache.get(CacheKind::objects, "the key"), std::nullopt);
    cache.put(CacheKind::objects, "the key", "the payload");
    EXPECT_EQ(cache.get(CacheKind::objects, "the key"), "the payload");
}

TEST_F(DiskCacheTest, AnEntryOfAnotherKeyInItsPlaceIsNotTaken) {
    DiskCache cache(cache_folder());
    cache.put(CacheKind::objects, "key 1", "payload 1");
    std::string first = files().at(0), entry = *read_file(first);
    cache.put(CacheKind::objects, "key 2", "payload 2");
    for (const std::string& file : files())
        if (file != first) {
            ASSERT_TRUE(write_file_atomically(file, entry));
        }
    EXPECT_EQ(cache.get(CacheKind::objects, "key 2"), std::nullopt);
    EXPECT_EQ(cache.get(CacheKind::objects, "key 1"), "payload 1");
}

TEST_F(DiskCacheTest, APlainFileHasExactlyThePayloadAndIsVerified) {
    DiskCache cache(cache_folder());
    EXPECT_EQ(cache.get_file(CacheKind::precompiled_headers, "plain key"), std::nullopt);
    auto path = cache.put_file(CacheKind::precompiled_headers, "plain key", "plain bytes");
    ASSERT_TRUE(path);
    EXPECT_EQ(read_file(*path), "plain bytes");
    EXPECT_EQ(cache.get_file(CacheKind::precompiled_headers, "plain key"), path);
    ASSERT_TRUE(write_file_atomically(*path, "plain bytEs"));
    EXPECT_EQ(cache.get_file(CacheKind::precompiled_headers, "plain key"), std::nullopt);
    EXPECT_FALSE(fs::exists(*path));
}

TEST_F(DiskCacheTest, PlainFilesOfADisabledOrUnusableCacheLastForTheProcess) {
    ASSERT_TRUE(write_file_atomically(folder_ + "/file", ""));
    for (const std::string& folder : {std::string(), folder_ + "/file/cache"}) {
        DiskCache cache(folder);
        auto path = cache.put_file(CacheKind::precompiled_headers, "key", "payload");
        ASSERT_TRUE(path) << folder;
        EXPECT_EQ(read_file(*path), "payload");
    }
}

TEST_F(DiskCacheTest, AFolderThatCannotBeWrittenIsAnEmptyCache) {
    ASSERT_TRUE(write_file_atomically(folder_ + "/file", ""));
    DiskCache cache(folder_ + "/file/cache");
    cache.put(CacheKind::objects, "key", "payload");
    EXPECT_EQ(cache.get(CacheKind::objects, "key"), std::nullopt);
}

TEST_F(DiskCacheTest, TrimmingDropsTheEntriesLongestUnusedAndNothingOutside) {
    DiskCache cache(cache_folder(), 40'000);
    std::string payload(10'000, 'x');
    cache.put(CacheKind::objects, "old", payload);
    fs::last_write_time(files().at(0), fs::file_time_type::clock::now() - std::chrono::hours(48));
    cache.put(CacheKind::objects, "used", payload);
    for (auto& file : files())
        if (fs::last_write_time(file) > fs::file_time_type::clock::now() - std::chrono::hours(1))
            fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(47));
    EXPECT_TRUE(cache.get(CacheKind::objects, "used"));
    for (int i = 0; i < 2; ++i) cache.put(CacheKind::objects, "new" + std::to_string(i), payload);
    ASSERT_TRUE(write_file_atomically(cache_folder() + "/not-ours", payload));
    cache.trim();
    EXPECT_FALSE(cache.get(CacheKind::objects, "old"));
    EXPECT_TRUE(cache.get(CacheKind::objects, "used"));
    EXPECT_TRUE(cache.get(CacheKind::objects, "new1"));
    EXPECT_TRUE(fs::exists(cache_folder() + "/not-ours"));
}

/// Puts and gets the same few keys; 0 when every read was whole.
int hammer(const std::string& folder, int rounds) {
    DiskCache cache(folder);
    for (int i = 0; i < rounds; ++i) {
        std::string key = std::to_string(i % 5), payload(1000 + 100 * (i % 5), static_cast<char>('a' + i % 5));
        if (i % 2) cache.put(CacheKind::objects, key, payload);
        if (auto found = cache.get(CacheKind::objects, key); found && *found != payload) return 1;
        if (i % 2 && !cache.put_file(CacheKind::precompiled_headers, key, payload)) return 2;
        if (auto path = cache.get_file(CacheKind::precompiled_headers, key); path && read_file(*path) != payload)
            return 3;
    }
    return 0;
}

TEST_F(DiskCacheTest, ProcessesAndThreadsThatFillItAtOnceAllSucceed) {
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
        pid_t child = fork();
        if (child == 0) _exit(hammer(cache_folder(), 200));
        children.push_back(child);
    }
    std::vector<std::thread> threads;
    std::vector<int> status(2, -1);
    for (size_t i = 0; i < status.size(); ++i)
        threads.emplace_back([&, i] { status[i] = hammer(cache_folder(), 200); });
    for (auto& thread : threads) thread.join();
    for (int one : status) EXPECT_EQ(one, 0);
    for (pid_t child : children) {
        int state = -1;
        ASSERT_EQ(waitpid(child, &state, 0), child);
        EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0) << state;
    }
    DiskCache cache(cache_folder());
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(cache.get(CacheKind::objects, std::to_string(i))) << i;
    for (const std::string& file : files()) EXPECT_FALSE(file.ends_with(".tmp")) << file;
}

}  // namespace
}  // namespace strata
