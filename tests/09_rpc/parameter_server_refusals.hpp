// Calls by hand of a worker, and of a rank that is none, on a server that has 4 parameters.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/09_rpc/parameter_server_scene.hpp"

namespace dist::harness {

struct ByHand {
    VirtualTime time{1};
    VirtualClock clock{time};
    ParameterNetwork network{time, 3, 1};
    ParameterRpc other{network, 0};
    ParameterRpc worker{network, 1};
    ParameterRpc server{network, 2};
    Row row = first_row(4);
    int steps = 0;
    bool has_ended = false;
    std::vector<std::string> wrong = {};  // threads check nothing themselves

    void expect(bool holds, const std::string& what) {
        if (!holds) {
            wrong.push_back(what);
        }
    }

    /// The call throws that.
    template <class Thrown>
    void refused(const std::string& what, const std::function<void()>& call) {
        try {
            call();
            wrong.push_back("is not refused: " + what);
        } catch (const Thrown&) {
        }
    }

    void serve() {
        SynchronousTable table(row, 1, [&](std::span<float> weights, std::span<const float> mean) {
            ++steps;
            sgd(weights, mean);
        });
        ParameterServer parameters(server, table, {1});
        for (int ms = 0; ms < 500 && !has_ended; ++ms) {
            has_ended = !parameters.serve();
            time.sleep(1ms);
        }
    }

    void run(
        const std::vector<int>& servers,
        std::size_t n,
        const std::function<void(ParameterClient&)>& calls
    ) {
        const auto work = [&] {
            ParameterClient client(worker, servers, n, clock);
            calls(client);
            client.leave();
            for (int ms = 0; !has_ended && ms < 100; ++ms) {
                worker.serve();
                time.sleep(1ms);
            }
        };
        for (const std::string& end : time.run({work, [&] { serve(); }})) {
            expect(end.empty(), end);
        }
        const Comparison result{wrong.empty(), wrong.empty() ? "" : wrong.front()};
        CHECK(result);
    }
};

inline void refuse_calls() {
    ByHand scene;
    scene.run({2}, 4, [&](ParameterClient& client) {
        const auto refused = [&](const char* what, ParameterRpc& caller, const char* function,
                                 const Bytes& arguments) {
            scene.refused<RemoteError>(what, [&] { caller.rpc_sync(2, function, arguments); });
        };
        Bytes torn = arguments_of(0, Row(4));
        torn.pop_back();
        refused("a push without a step", scene.worker, kPush, Bytes(7));
        refused("a push of three floats and three bytes", scene.worker, kPush, torn);
        refused("a push of 3 floats", scene.worker, kPush, arguments_of(0, Row(3)));
        refused("a push of 5 floats", scene.worker, kPush, arguments_of(0, Row(5)));
        refused("a push of no worker", scene.other, kPush, arguments_of(0, Row(4)));
        refused("a pull without a step", scene.worker, kPull, Bytes(7));
        refused("a pull of no worker", scene.other, kPull, arguments_of(0));
        client.push(0, Row(4, 1));
        refused("a pull of a version that is gone", scene.worker, kPull, arguments_of(0));
        scene.refused<RemoteError>("a second push", [&] { client.push(0, Row(4)); });
        Row now(4);
        client.pull(1, now);
        scene.expect(now == Row{0.75F, 1.75F, 2.75F, 3.75F}, "after these calls the row is wrong");
        scene.expect(scene.steps == 1, "after these calls there were more steps than one");
    });
}

inline void refuse_rows() {
    ByHand right;
    right.run({2}, 4, [&](ParameterClient& client) {
        Row row(5, 9);
        using Refusal = std::invalid_argument;
        right.refused<Refusal>("push of 5 for 4", [&] { client.push(0, row); });
        right.refused<Refusal>("push of 3 for 4", [&] { client.push(0, Row(3)); });
        right.refused<Refusal>("pull of 5 for 4", [&] { client.pull(0, row); });
        right.expect(right.network.served[2].calls.empty(), "a call was made before the refusal");
    });
    ByHand wrong;  // one server in the place of two, who have shares of 4 and of 3
    wrong.run({2, 2}, 7, [&](ParameterClient& client) {
        Row row(7, 9);
        wrong.refused<Error>("a row of 4 floats for 3", [&] { client.pull(0, row); });
        wrong.expect(row == Row(7, 9), "a pull that failed has changed the row");
        wrong.refused<RemoteError>("a push of 3 floats for 4", [&] { client.push(0, row); });
    });
}

}  // namespace dist::harness
