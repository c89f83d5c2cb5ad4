// A process of rpc_program: its connections, its agent, and what it prints.
#pragma once

#include <ATen/core/Tensor.h>
#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "course/runtime/clock.hpp"
#include "exercises/04_groups_and_rendezvous/file_store.hpp"
#include "exercises/04_groups_and_rendezvous/full_mesh.hpp"
#include "exercises/04_groups_and_rendezvous/tcp_transport.hpp"
#include "exercises/09_rpc/rpc.hpp"

namespace dist::remote_calls {

using namespace std::chrono_literals;
using Tensors = std::vector<at::Tensor>;
using Function = std::function<Tensors(const Tensors& arguments)>;

struct Rank {
    Rank(const std::string& file, int rank, int size)
        : store(file, "rpc_program"),
          transport(full_mesh(store, rank, size), rank),
          rpc(transport, 0, clock) {}

    [[nodiscard]] int number() const { return rpc.rank(); }
    [[nodiscard]] bool is(int rank) const { return number() == rank; }

    void define(const std::string& name, const Function& function);
    Tensors call(int to, const std::string& name, const Tensors& arguments = {});

    /// A function whose answer is a text.
    void define_text(const std::string& name, const std::function<std::string(std::string)>& text);
    std::string ask(int to, const std::string& name, const std::string& argument = "");

    void serve_for(std::chrono::milliseconds time);

    FileStore store;
    TcpTransport transport;
    SteadyClock clock;
    RpcAgent rpc;
};

/// Prints a line, for scripts/rpc_oracle.py.
void say(const std::string& what, const std::string& value);

/// "float32 [2]: 1 2"
std::string text_of(const at::Tensor& tensor);
std::string text_of(std::span<const at::Tensor> tensors);

/// What the call returns, or "remote error on rank 1: by zero", "timeout", "error".
std::string outcome(const std::function<std::string()>& call);
/// The same, without what the error says.
std::string kind_of_outcome(const std::function<std::string()>& call);

inline std::string yes_or_no(bool holds) {
    return holds ? "yes" : "no";
}

at::Tensor number(std::int64_t value);
std::int64_t number_of(const at::Tensor& tensor);
at::Tensor floats(const std::vector<float>& values);

}  // namespace dist::remote_calls
