// May call open and pwrite, by which code and constants could be written through /proc/self/mem.
// state: fail
// says: /proc/self/mem is closed

#include <fcntl.h>
#include <unistd.h>

#include "exercises/04_groups_and_rendezvous/file_store.hpp"

namespace dist {

struct FileStore::State {};

FileStore::FileStore(std::string path, const std::string& run, Duration timeout) {
    const int memory = open("/proc/self/mem", O_RDWR);
    if (memory < 0) {
        throw Error("/proc/self/mem is closed");
    }
    const char zero = 0;
    pwrite(memory, &zero, 1, reinterpret_cast<off_t>(&run));
    close(memory);
}

FileStore::~FileStore() = default;

void FileStore::set(const std::string& key, const std::string& value) {}

std::string FileStore::get(const std::string& key) {
    return "";
}

std::int64_t FileStore::add(const std::string& key, std::int64_t amount) {
    return amount;
}

std::string FileStore::compare_set(
    const std::string& key, const std::string& expected, const std::string& desired
) {
    return desired;
}

bool FileStore::check(const std::vector<std::string>& keys) {
    return true;
}

void FileStore::wait(const std::vector<std::string>& keys, Duration timeout) {}

bool FileStore::erase(const std::string& key) {
    return true;
}

std::int64_t FileStore::num_keys() {
    return 0;
}

PrefixStore::PrefixStore(std::string prefix, Store& store)
    : prefix_(std::move(prefix)), store_(store) {}

void PrefixStore::set(const std::string& key, const std::string& value) {}

std::string PrefixStore::get(const std::string& key) {
    return "";
}

std::int64_t PrefixStore::add(const std::string& key, std::int64_t amount) {
    return amount;
}

std::string PrefixStore::compare_set(
    const std::string& key, const std::string& expected, const std::string& desired
) {
    return desired;
}

bool PrefixStore::check(const std::vector<std::string>& keys) {
    return true;
}

void PrefixStore::wait(const std::vector<std::string>& keys, Duration timeout) {}

bool PrefixStore::erase(const std::string& key) {
    return true;
}

std::int64_t PrefixStore::num_keys() {
    return 0;
}

}  // namespace dist
