// A server that plays its part by heart: holds each request against what has to come, and replies what it was told to.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "course/net/socket.hpp"
#include "tests/04_groups_and_rendezvous/raw_client.hpp"
#include "tests/04_groups_and_rendezvous/recorded_traffic.hpp"

namespace dist::harness {

class ScriptedServer {
  public:
    /// Serves one client, whose greeting is not in the script.
    ///
    /// single    each byte of a reply on its own.
    /// listener  where it listens.
    explicit ScriptedServer(
        std::vector<Recorded> script,
        bool single = false,
        net::Socket listener = net::listen_on(0, net::From::this_machine)
    )
        : listener_(std::move(listener)),
          script_(std::move(script)),
          single_(single),
          thread_([this] { run(); }) {}
    ~ScriptedServer() {
        end_.second.close();
        if (thread_.joinable()) {
            thread_.join();
        }
    }
    ScriptedServer(const ScriptedServer&) = delete;
    ScriptedServer& operator=(const ScriptedServer&) = delete;

    [[nodiscard]] int port() const { return port_; }

    /// Once the client has done its part: what was not as it has to be.
    Comparison result() {
        thread_.join();
        return {wrong_.empty(), wrong_};
    }

  private:
    void run() {
        pollfd events[2] = {
            {listener_.descriptor(), POLLIN, 0}, {end_.first.descriptor(), POLLIN, 0}};
        poll(events, 2, static_cast<int>(kPatience.count()));
        RawClient client(net::accept_from(listener_));
        if (!client.socket()) {
            wrong_ = "nobody connects";
            return;
        }
        const std::string begin = bytes("00 ce f7 85 3c 0d");
        constexpr std::size_t kPing = 4;
        const std::string greeting = client.reads(begin.size() + kPing);
        if (!greeting.starts_with(begin)) {
            wrong_ = "the greeting: " + same_on_wire(greeting, begin).text + " and a number";
            return;
        }
        reply(client, greeting.substr(begin.size()));
        for (const Recorded& one : script_) {
            const std::string request = bytes(one.request);
            const Comparison same = same_on_wire(client.reads(request.size()), request);
            if (!same) {
                wrong_ = one.call + ": " + same.text;
                return;
            }
            reply(client, bytes(one.reply));
        }
        if (const std::string more = client.reads(1); !more.empty()) {
            wrong_ = "after the last call: " + same_on_wire(more, "").text;
        }
    }

    void reply(RawClient& client, const std::string& reply) const {
        single_ ? client.sends_single(reply) : client.sends(reply);
    }

    net::Socket listener_;
    int port_ = net::local_port(listener_);
    std::pair<net::Socket, net::Socket> end_ = net::connected_pair();
    std::vector<Recorded> script_;
    bool single_;
    std::string wrong_;
    std::thread thread_;  // last: it uses all others
};

}  // namespace dist::harness
