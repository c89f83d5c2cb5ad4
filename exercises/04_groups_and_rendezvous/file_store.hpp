// Exercise 04: a store in a file, for the processes of one machine, and a store's part under a prefix.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "course/runtime/store.hpp"

namespace dist {

/// A Store in a file that several processes share, or several objects of one process.
///
/// The file is a list of records, which only grows. A record is
///
///     uint32 length, key, uint32 length, value        in the machine's byte order
///
/// with "/" before the key of what is set, and "-/" before the key of what is taken away, whose value is empty.
/// Records of other keys are skipped. The first record has an empty key, and `run` as its value.
///
/// A call that changes something appends one record, under an exclusive lock of the file (flock), after it has read what
/// others have appended. A call that only reads takes a shared lock. Each call opens the file, and closes it before
/// it returns or sleeps: so the object may be used after a fork() in both processes. Who waits looks every 10 ms.
/// A signal that is handled ends no call.
///
/// A process may die while it writes. Then the file ends in a part of a record: who reads goes on without it,
/// and who writes next first cuts it off.
///
/// Cost    a call reads what is new in the file, not what the object knows already.
/// Errors  Error, with the file's name and the system's reason, where the file cannot be opened, read or written.
///         Nothing has changed then.
/// Source  PyTorch, torch/csrc/distributed/c10d/FileStore.cpp, whose file has the same records.
class FileStore : public Store {
  public:
    /// The store in the file of this name. Where there is none, or one that ends before its first record does, makes it.
    ///
    /// path     of the file. Its folder exists. The file stays when the store is gone.
    /// run      names this run: the same in all its processes, and in no other run.
    /// timeout  how long get() waits.
    ///
    /// Errors   Error, which names the file and both runs, if the file is another run's; Error, which names the file, if it is
    ///          no such file at all. It stays as it was.
    FileStore(std::string path, const std::string& run, Duration timeout = kTimeout);
    ~FileStore() override;
    FileStore(const FileStore&) = delete;
    FileStore& operator=(const FileStore&) = delete;

    void set(const std::string& key, const std::string& value) override;
    std::string get(const std::string& key) override;
    std::int64_t add(const std::string& key, std::int64_t amount) override;
    std::string compare_set(
        const std::string& key, const std::string& expected, const std::string& desired
    ) override;
    bool check(const std::vector<std::string>& keys) override;
    void wait(const std::vector<std::string>& keys, Duration timeout) override;
    bool erase(const std::string& key) override;
    std::int64_t num_keys() override;

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

/// The keys of another store that begin with a prefix, as a store of their own: what is set here under "k" stands
/// there under "prefix/k".
///
/// Errors  those of the other store; texts name the keys as they stand there.
/// Source  PyTorch, torch/csrc/distributed/c10d/PrefixStore.cpp.
class PrefixStore : public Store {
  public:
    /// store  outlives this one, and may have keys of other prefixes.
    PrefixStore(std::string prefix, Store& store);

    void set(const std::string& key, const std::string& value) override;
    std::string get(const std::string& key) override;
    std::int64_t add(const std::string& key, std::int64_t amount) override;
    std::string compare_set(
        const std::string& key, const std::string& expected, const std::string& desired
    ) override;
    bool check(const std::vector<std::string>& keys) override;
    void wait(const std::vector<std::string>& keys, Duration timeout) override;
    bool erase(const std::string& key) override;

    /// Of the whole other store, as in PyTorch.
    std::int64_t num_keys() override;

  private:
    std::string prefix_;
    Store& store_;
};

}  // namespace dist
