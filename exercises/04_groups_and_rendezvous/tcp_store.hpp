// Exercise 04: a store that a process reaches through a socket, in the words that PyTorch's own store speaks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "course/runtime/store.hpp"
#include "exercises/04_groups_and_rendezvous/tcp_store_server.hpp"

namespace dist {

/// A Store on a server of this course or of PyTorch 2.x, through one connection. Threads may share it: their calls
/// come one after the other, a wait as well. A call of set() returns when the request has left: another client may see the
/// value a moment later.
///
/// Cost    one round trip for each call; two for get(), and none for set().
/// Errors  of each call: Error, which names host and port, if the connection breaks, or if a reply does not come for as
///         long as the store's timeout, and one second at least. What has not been answered may or may not have
///         happened. The next call connects anew, with one try.
///         std::invalid_argument if a key, a value or a list is longer than TcpStoreServer takes: then nothing is sent.
/// Source  PyTorch, torch/csrc/distributed/c10d/TCPStore.cpp.
class TcpStore : public Store {
  public:
    /// Connects, and tries again while nobody listens there, or the connection breaks before the first answer: servers may
    /// start later than clients. It waits 10 ms before the second try, then twice as long each time, at least up to 1 s.
    ///
    /// host     a name or an address: "localhost", "127.0.0.1", "::1".
    /// timeout  for how long it tries to connect, and how long get() waits.
    ///
    /// Errors   Timeout, which names host and port, if nobody answers there in time.
    TcpStore(std::string host, int port, Duration timeout = kTimeout);
    ~TcpStore() override;
    TcpStore(const TcpStore&) = delete;
    TcpStore& operator=(const TcpStore&) = delete;

    void set(const std::string& key, const std::string& value) override;
    std::string get(const std::string& key) override;
    std::int64_t add(const std::string& key, std::int64_t amount) override;
    std::string compare_set(
        const std::string& key, const std::string& expected, const std::string& desired
    ) override;
    bool check(const std::vector<std::string>& keys) override;

    /// After a Timeout the connection is as it was before: no reply is left on the way. If the keys come while the wait
    /// is being cancelled, they came in time.
    void wait(const std::vector<std::string>& keys, Duration timeout) override;
    bool erase(const std::string& key) override;
    std::int64_t num_keys() override;

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
