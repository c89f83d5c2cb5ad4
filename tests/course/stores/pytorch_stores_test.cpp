// PyTorch's own client of the store that LibTorch brings, on our server and on PyTorch's: the same answers.
#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "exercises/04_groups_and_rendezvous/tcp_store_server.hpp"
#include "tests/harness/catch2.hpp"

namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<std::uint8_t>;
using Client = c10d::TCPStore;

Bytes bytes(const std::string& text) {
    return {text.begin(), text.end()};
}

std::string text(const Bytes& bytes) {
    return {bytes.begin(), bytes.end()};
}

std::unique_ptr<Client> client_of(int port, std::chrono::milliseconds timeout = 4s) {
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(port);
    options.waitWorkers = false;
    options.timeout = timeout;
    return std::make_unique<Client>("127.0.0.1", options);
}

std::unique_ptr<Client> pytorch_server() {
    c10d::TCPStoreOptions options;
    options.port = 0;
    options.isServer = true;
    options.waitWorkers = false;
    return std::make_unique<Client>("127.0.0.1", options);
}

/// What it returns, or that it throws.
std::string answer(const std::function<std::string()>& call) {
    try {
        return call();
    } catch (const std::exception&) {
        return "an exception";
    }
}

/// Every call that 1.13 and 2.x have.
std::vector<std::string> answers_of(int port) {
    const auto store = client_of(port);
    const auto other = client_of(port);
    std::vector<std::string> all;
    const auto ask = [&](const std::function<std::string()>& call) { all.push_back(answer(call)); };
    const auto get = [&](const std::string& key) { ask([&] { return text(store->get(key)); }); };
    const auto compare_set = [&](const char* expected, const char* desired) {
        ask([&] { return text(store->compareSet("m", bytes(expected), bytes(desired))); });
    };
    store->set("a", bytes("xyz"));
    get("a");
    for (const int amount : {5, 2, -10}) {
        ask([&] { return std::to_string(store->add("n", amount)); });
    }
    get("n");
    compare_set("old", "new");
    compare_set("", "new");
    compare_set("zzz", "q");
    compare_set("new", "q");
    ask([&] { return std::to_string(static_cast<int>(store->check({"a", "nokey"}))); });
    ask([&] { return std::to_string(static_cast<int>(store->check({"a", "n"}))); });
    ask([&] { return store->wait({"a", "n"}), "came"; });
    ask([&] { return std::to_string(store->getNumKeys()); });
    ask([&] { return std::to_string(static_cast<int>(store->deleteKey("m"))); });
    ask([&] { return std::to_string(static_cast<int>(store->deleteKey("m"))); });
    store->set("empty", {});
    get("empty");
    store->set("large", Bytes(1'000'000, 'v'));
    ask([&] { return std::to_string(store->get("large").size()); });
    std::thread late([&] {
        std::this_thread::sleep_for(50ms);
        other->set("late", bytes("came"));
    });
    get("late");
    late.join();
    ask([&] { return store->wait({"never"}, 100ms), "came"; });
    get("a");
    return all;
}

}  // namespace

TEST_CASE("PyTorch's client gets the same answers from our server as from PyTorch's own") {
    const auto theirs = pytorch_server();
    const dist::TcpStoreServer ours;
    const std::vector<std::string> expected = answers_of(theirs->getPort());
    CHECK(expected.size() == 20);
    CHECK(answers_of(ours.port()) == expected);
    CHECK(expected[0] == "xyz");
    CHECK(expected[18] == "an exception");
}

TEST_CASE("after a wait that timed out, PyTorch 1.13 gets its own replies from our server") {
    const dist::TcpStoreServer server;
    const auto store = client_of(server.port(), 1s);
    store->set("a", bytes("x"));
    CHECK(answer([&] { return store->wait({"late"}, 100ms), "came"; }) == "an exception");
    store->set("late", bytes("y"));  // at PyTorch 1.13's own server the next get fails
    for (int i = 0; i < 3; ++i) {
        CHECK(answer([&] { return text(store->get("a")); }) == "x");
        CHECK(answer([&] { return text(store->get("late")); }) == "y");
    }
}

TEST_CASE("64 clients of PyTorch at once add and wait on our server") {
    const dist::TcpStoreServer server;
    std::vector<std::thread> threads;
    std::vector<std::string> ends(64);
    for (std::string& end : ends) {
        threads.emplace_back([&] {
            end = answer([&] {
                const auto store = client_of(server.port());
                if (store->add("here", 1) == 64) {
                    store->set("all", bytes("yes"));
                }
                return text(store->get("all"));
            });
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    CHECK(ends == std::vector<std::string>(64, "yes"));
}
