// Stores behind sockets, for the cases that every store is held to.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"
#include "tests/04_groups_and_rendezvous/stores.hpp"

namespace dist::harness {

/// A TcpStore whose set() returns when the server has the value: the cases look at once, through another connection.
class Confirmed : public Store {
  public:
    /// The server lives as long as the last of its stores.
    Confirmed(std::shared_ptr<TcpStoreServer> server, Duration timeout)
        : server_(std::move(server)) {
        // a busy machine may take longer to connect than get() is to wait
        const auto end = std::chrono::steady_clock::now() + 2 * kPatient;
        while (store_ == nullptr) {
            try {
                store_ = std::make_unique<TcpStore>("127.0.0.1", server_->port(), timeout);
            } catch (const Timeout&) {
                if (std::chrono::steady_clock::now() > end) {
                    throw;
                }
            }
        }
    }

    void set(const std::string& key, const std::string& value) override {
        store_->set(key, value);
        store_->check({});
    }
    std::string get(const std::string& key) override { return store_->get(key); }
    std::int64_t add(const std::string& key, std::int64_t amount) override {
        return store_->add(key, amount);
    }
    std::string compare_set(
        const std::string& key, const std::string& expected, const std::string& desired
    ) override {
        return store_->compare_set(key, expected, desired);
    }
    bool check(const std::vector<std::string>& keys) override { return store_->check(keys); }
    void wait(const std::vector<std::string>& keys, Duration timeout) override {
        store_->wait(keys, timeout);
    }
    bool erase(const std::string& key) override { return store_->erase(key); }
    std::int64_t num_keys() override { return store_->num_keys(); }

  private:
    std::shared_ptr<TcpStoreServer> server_;
    std::unique_ptr<TcpStore> store_;
};

inline const StoreKind kConnectionEach = {
    "a TcpStore for each, at one server", [](Store::Duration timeout) {
        const auto server = std::make_shared<TcpStoreServer>();
        return [server, timeout] { return std::make_shared<Confirmed>(server, timeout); };
    }};

inline const StoreKind kSharedConnection = {
    "one TcpStore, which threads share", [](Store::Duration timeout) {
        const auto store = std::make_shared<Confirmed>(std::make_shared<TcpStoreServer>(), timeout);
        return [store] { return store; };
    }};

}  // namespace dist::harness
