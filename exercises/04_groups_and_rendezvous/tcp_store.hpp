// Exercise 04: a store that processes reach through a socket, in the words that PyTorch's own store speaks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "course/runtime/store.hpp"

namespace dist {

/// A message to the server is one byte, which says what is asked for, and what belongs to it. Numbers are
/// little-endian, and texts a uint64 length and so many bytes; a list is a uint64 count and its members. The key of a
/// user is sent with "/" before it.
///
///     op                 request                       reply
///     validate           uint32 0x3C85F7CE             none
///     set, append        key, value                    none
///     compare_set        key, expected, desired        value
///     get                key                           value
///     add                key, int64                    int64
///     check              list of keys                  one byte: 0 if all have a value, 1 if not
///     wait               list of keys                  one byte, 0, as soon as all have a value
///     num_keys           -                             int64
///     erase              key                           int64: how many were taken away
///     multi_get          list of keys                  values, without a count
///     multi_set          list of (key, value)          none
///     cancel_wait        -                             one byte, 1; the wait of this connection gets no reply
///     ping               uint32                        the same uint32
///     queue_push         key, value                    none
///     queue_pop          key                           uint64: 1 and the value that is first in the queue; 0 if it is empty
///     queue_length       key                           int64
///     list_keys          -                             list of keys
///     barrier            key, int64 n                  one byte, 0, to each of n that ask, when the last has asked
///
/// A client of PyTorch 2.x begins with validate, and then a ping. One of PyTorch 1.13 begins with no validate, and has
/// other numbers: set 0, compare_set 1, get 2, add 3, check 4, wait 5, num_keys 6, erase 8. A client sends get only when
/// a value is there: it waits first.
enum class StoreOp : unsigned char {
    validate,
    set,
    compare_set,
    get,
    add,
    check,
    wait,
    num_keys,
    erase,
    append,
    multi_get,
    multi_set,
    cancel_wait,
    ping,
    queue_push,
    queue_pop,
    queue_length,
    list_keys,
    barrier,
};

/// Serves a store to processes that connect: clients of this course, of PyTorch 1.13, and of PyTorch 2.x.
///
/// One thread serves all. A client that waits, is slow, or sends half a message, keeps no other one waiting; one that
/// speaks another language, or asks for what is too large, is disconnected. A queue that holds something counts as a key
/// that has a value, for wait and check.
///
/// Source  PyTorch, torch/csrc/distributed/c10d/TCPStoreBackend.cpp and TCPStoreLibUvBackend.cpp.
class TcpStoreServer {
  public:
    /// The longest key and value that it takes, and the most keys.
    static constexpr std::size_t kMaxKey = std::size_t{8} << 10;
    static constexpr std::size_t kMaxValue = std::size_t{8} << 20;

    /// Listens on all addresses of this machine. Clients may connect when the constructor returns.
    ///
    /// port    0: one that is free.
    /// Errors  Error, which names the port, if it cannot listen there.
    explicit TcpStoreServer(int port = 0);

    /// Disconnects all. No thread and no descriptor is left.
    ~TcpStoreServer();
    TcpStoreServer(const TcpStoreServer&) = delete;
    TcpStoreServer& operator=(const TcpStoreServer&) = delete;

    /// Where it listens.
    [[nodiscard]] int port() const;

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

/// A Store on a server of this course or of PyTorch 2.x, through one connection. Threads may share it: their calls
/// come one after the other, a wait as well.
///
/// Errors  of each call: Error, which names host and port, if the server cannot be reached any more. What has not been
///         answered may or may not have happened.
/// Source  PyTorch, torch/csrc/distributed/c10d/TCPStore.cpp.
class TcpStore : public Store {
  public:
    /// Connects, and tries again while nobody listens there, or the connection breaks before the first answer: servers may
    /// start later than clients. It waits a little between two tries, longer each time.
    ///
    /// host     a name or an address: "localhost", "127.0.0.1".
    /// timeout  for how long it tries to connect, and how long get() waits.
    ///
    /// Errors   Timeout, which names host and port, if nobody answers there in time.
    TcpStore(std::string host, int port, Duration timeout = kTimeout);
    ~TcpStore() override;

    void set(const std::string& key, const std::string& value) override;
    std::string get(const std::string& key) override;
    std::int64_t add(const std::string& key, std::int64_t amount) override;
    std::string compare_set(
        const std::string& key, const std::string& expected, const std::string& desired
    ) override;
    bool check(const std::vector<std::string>& keys) override;

    /// After a Timeout the connection is as it was before: no reply is left on the way.
    void wait(const std::vector<std::string>& keys, Duration timeout) override;
    bool erase(const std::string& key) override;
    std::int64_t num_keys() override;

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
