#include "exercises/09_rpc/parameter_server.hpp"

#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist {

struct SynchronousTable::State {
    // what it has to know of this step, and who waits for the next version
};

SynchronousTable::SynchronousTable(std::span<float> row, int workers, Step step) {
    // TODO: first this table, which needs no messages; then the server, which turns calls into
    // calls of its table; then the client.
    throw NotImplemented("parameter_server");
}

SynchronousTable::~SynchronousTable() = default;

void SynchronousTable::push(int worker, std::int64_t step, std::span<const float> gradient) {
    throw NotImplemented("parameter_server");
}

void SynchronousTable::pull(int worker, std::int64_t version, Reader reader) {
    throw NotImplemented("parameter_server");
}

void SynchronousTable::leave(int worker, const std::string& reason) {
    throw NotImplemented("parameter_server");
}

std::int64_t SynchronousTable::version() const {
    throw NotImplemented("parameter_server");
}

struct ParameterServer::State {};

ParameterServer::ParameterServer(Rpc& rpc, ParameterTable& table, std::vector<int> workers) {
    throw NotImplemented("parameter_server");
}

ParameterServer::~ParameterServer() = default;

bool ParameterServer::serve() {
    throw NotImplemented("parameter_server");
}

struct ParameterClient::State {};

ParameterClient::ParameterClient(Rpc& rpc, std::vector<int> servers, std::size_t n, Clock& clock) {
    throw NotImplemented("parameter_server");
}

ParameterClient::~ParameterClient() = default;

void ParameterClient::push(std::int64_t step, std::span<const float> gradient) {
    throw NotImplemented("parameter_server");
}

void ParameterClient::pull(std::int64_t step, std::span<float> parameters) {
    throw NotImplemented("parameter_server");
}

void ParameterClient::leave() {
    throw NotImplemented("parameter_server");
}

}  // namespace dist
