// Exercise 04: serves a store through sockets, in the words that PyTorch's own store speaks.
#pragma once

#include <cstddef>
#include <memory>

#include "course/runtime/error.hpp"

namespace dist {

/// A request to the server is one byte, which says what is asked for, and what belongs to it. Numbers are
/// little-endian, and texts a uint64 length and so many bytes; a list is a uint64 count and its members. A client
/// sends the key of a user with "/" before it.
///
///     op                 request                       reply
///     validate           uint32 0x3C85F7CE             none
///     set, append        key, value                    none
///     compare_set        key, expected, desired        value
///     get                key                           value; an empty one if there is none
///     add                key, int64                    int64
///     check              list of keys                  one byte: 0 if all have a value, 1 if not
///     wait               list of keys                  one byte, 0, as soon as all have a value
///     num_keys           -                             int64
///     erase              key                           int64: how many were taken away
///     multi_get          list of keys                  values, without a count; an empty one if there is none
///     multi_set          list of (key, value)          none
///     cancel_wait        -                             one byte, 1; the wait of this connection gets no reply
///     ping               uint32                        the same uint32
///     queue_push         key, value                    none; one of those that wait for it wakes up
///     queue_pop          key                           uint64: 1 and the value that is first in the queue; 0 if it is empty
///     queue_length       key                           int64
///     list_keys          -                             list of keys
///     barrier            key, int64 n                  one byte, 0, to each of n that ask, when the last has asked
///
/// A client of PyTorch 2.x begins with validate, and then a ping. One of PyTorch 1.13 begins with no validate, and has
/// other numbers: set 0, compare_set 1, get 2, add 3, check 4, wait 5, num_keys 6, erase 8. A client sends get only when
/// a value is there: it waits first. What it sends while it waits says that it does not wait any more, and the wait gets
/// no reply: PyTorch 1.13 has no cancel_wait, and goes on as if nothing were on the way.
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
/// One thread serves all. A client that waits, is slow, or sends half a request, keeps no other one waiting. A client that
/// goes away, also within a request or a wait, leaves nothing behind. While nothing comes, the thread sleeps.
///
/// The server disconnects a client that speaks another language, adds to what is no number (Store::add), or sends what is
/// too long: as soon as it reads the length. All others notice nothing. A queue that holds something counts as a key that
/// has a value for wait and check, and for no other request.
///
/// Cost    one thread, however many clients there are.
/// Source  PyTorch, torch/csrc/distributed/c10d/TCPStoreBackend.cpp and TCPStoreLibUvBackend.cpp.
class TcpStoreServer {
  public:
    static constexpr std::size_t kMaxKey = std::size_t{8}
                                           << 10;  // bytes of the longest key, with its "/"
    static constexpr std::size_t kMaxValue =
        std::size_t{8} << 20;  // bytes of the longest value that a request brings
    static constexpr std::size_t kMaxKeys = std::size_t{128} << 10;  // members of the longest list

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

}  // namespace dist
