#include "exercises/04_groups_and_rendezvous/file_store.hpp"

#include <utility>

namespace dist {

struct FileStore::State {
    // TODO: what you know of the file, and how many of its bytes that is. Begin with a class for a file that is open and
    // locked, a function that makes a record's bytes, and one that reads what is new: whole records, and no part of one.
};

FileStore::FileStore(std::string path, const std::string& run, Duration timeout) {
    throw NotImplemented("file_store");
}

FileStore::~FileStore() = default;

void FileStore::set(const std::string& key, const std::string& value) {
    throw NotImplemented("file_store");
}

std::string FileStore::get(const std::string& key) {
    throw NotImplemented("file_store");
}

std::int64_t FileStore::add(const std::string& key, std::int64_t amount) {
    throw NotImplemented("file_store");
}

std::string FileStore::compare_set(
    const std::string& key, const std::string& expected, const std::string& desired
) {
    throw NotImplemented("file_store");
}

bool FileStore::check(const std::vector<std::string>& keys) {
    throw NotImplemented("file_store");
}

void FileStore::wait(const std::vector<std::string>& keys, Duration timeout) {
    throw NotImplemented("file_store");
}

bool FileStore::erase(const std::string& key) {
    throw NotImplemented("file_store");
}

std::int64_t FileStore::num_keys() {
    throw NotImplemented("file_store");
}

PrefixStore::PrefixStore(std::string prefix, Store& store)
    : prefix_(std::move(prefix)), store_(store) {}

void PrefixStore::set(const std::string& key, const std::string& value) {
    throw NotImplemented("file_store");
}

std::string PrefixStore::get(const std::string& key) {
    throw NotImplemented("file_store");
}

std::int64_t PrefixStore::add(const std::string& key, std::int64_t amount) {
    throw NotImplemented("file_store");
}

std::string PrefixStore::compare_set(
    const std::string& key, const std::string& expected, const std::string& desired
) {
    throw NotImplemented("file_store");
}

bool PrefixStore::check(const std::vector<std::string>& keys) {
    throw NotImplemented("file_store");
}

void PrefixStore::wait(const std::vector<std::string>& keys, Duration timeout) {
    throw NotImplemented("file_store");
}

bool PrefixStore::erase(const std::string& key) {
    throw NotImplemented("file_store");
}

std::int64_t PrefixStore::num_keys() {
    throw NotImplemented("file_store");
}

}  // namespace dist
