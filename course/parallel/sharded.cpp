#include "course/parallel/sharded.hpp"

#include <ATen/ops/zeros.h>
#include <algorithm>
#include <utility>

#include "course/nn/rows.hpp"
#include "course/parallel/optimizer.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/07_zero/zero1.hpp"

namespace dist::trainer {

namespace {

constexpr const char* kStep = "step";  // a count, which all shards share

/// Where a checkpoint has what is kept of a parameter.
Key key_of(const std::string& kept) {
    return [kept](const std::string& name) { return optimizer_name(name, kept); };
}

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
    std::int64_t n = 1;
    for (const std::int64_t length : shape) {
        n *= length;
    }
    return n;
}

}  // namespace

void collect(
    StateDict& state,
    const NamedRow& row,
    const Key& key,
    const at::Tensor& shard,
    const Communicator& comm
) {
    const at::Tensor whole = at::zeros({shard.numel() * comm.size()});
    shard_of(whole, comm).copy_(shard);
    ring_all_gather(nn::floats(whole), comm);
    if (comm.rank() != 0) {
        return;
    }
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < row.names.size(); ++i) {
        const std::int64_t n = elements_of(row.shapes[i]);
        state[key(row.names[i])] = whole.narrow(0, begin, n).view(row.shapes[i]).clone();
        begin += n;
    }
}

void add_parts(
    std::vector<StatePart>& parts,
    const NamedRow& row,
    const Key& key,
    const at::Tensor& shard,
    const Communicator& comm
) {
    // elements of the row, from its beginning: of the shard, and of the next tensor
    const std::int64_t first = comm.rank() * shard.numel();
    const std::int64_t end = first + shard.numel();
    std::int64_t next = 0;
    for (std::size_t i = 0; i < row.names.size(); ++i) {
        const std::int64_t n = elements_of(row.shapes[i]);
        const std::int64_t from = std::clamp(next, first, end);
        const std::int64_t to = std::clamp(next + n, first, end);
        parts.push_back(
            {key(row.names[i]), row.shapes[i], from < to ? from - next : 0,
             shard.detach().narrow(0, from - first, to - from)}
        );
        next += n;
    }
}

at::Tensor cut(
    const StateDict& state, const NamedRow& row, const Key& key, const Communicator& comm
) {
    std::int64_t n = 0;
    for (const auto& shape : row.shapes) {
        n += elements_of(shape);
    }
    const int p = comm.size();
    const at::Tensor whole = at::zeros({(n + p - 1) / p * p});
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < row.names.size(); ++i) {
        const at::Tensor part =
            whole.narrow(0, begin, elements_of(row.shapes[i])).view(row.shapes[i]);
        part.copy_(state.at(key(row.names[i])));
        begin += part.numel();
    }
    return shard_of(whole, comm).clone();
}

void collect_optimizer_state(
    StateDict& state,
    const std::vector<NamedRow>& rows,
    const nn::Optimizer& optimizer,
    const Communicator& comm
) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
        for (const auto& [kept, tensor] : optimizer.state(r)) {
            const Key key = key_of(kept);
            if (kept != kStep) {
                collect(state, rows[r], key, tensor, comm);
                continue;
            }
            for (const std::string& name : rows[r].names) {
                state[key(name)] = tensor;
            }
        }
    }
}

void add_optimizer_parts(
    std::vector<StatePart>& parts,
    const std::vector<NamedRow>& rows,
    const nn::Optimizer& optimizer,
    const Communicator& comm
) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
        for (const auto& [kept, tensor] : optimizer.state(r)) {
            const Key key = key_of(kept);
            if (kept != kStep) {
                add_parts(parts, rows[r], key, tensor, comm);
                continue;
            }
            for (const std::string& name : rows[r].names) {
                parts.push_back(first_part(key(name), tensor, comm));
            }
        }
    }
}

void load_sharded_optimizer_state(
    nn::Optimizer& optimizer,
    const std::vector<NamedRow>& rows,
    const StateDict& state,
    const Communicator& comm
) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
        nn::OptimizerState own;
        for (const auto& [kept, tensor] : optimizer_state_of(rows[r].names.at(0), state)) {
            own[kept] = kept == kStep ? tensor : cut(state, rows[r], key_of(kept), comm);
        }
        optimizer.load_state(r, own);
    }
}

void ShardedState::set_rows(const std::vector<std::vector<std::size_t>>& rows) {
    const auto named = model().named_parameters();
    for (const std::vector<std::size_t>& numbers : rows) {
        NamedRow& row = rows_.emplace_back();
        for (const std::size_t i : numbers) {
            row.names.push_back(named[i].key());
            row.shapes.push_back(named[i].value().sizes().vec());
        }
    }
}

StateDict ShardedState::state_dict() const {
    StateDict state = WholeModel::state_dict();
    collect_optimizer_state(state, rows_, optimizer(), comm());
    return state;
}

std::vector<StatePart> ShardedState::parts() const {
    std::vector<StatePart> parts = model_parts();
    add_optimizer_parts(parts, rows_, optimizer(), comm());
    return parts;
}

void ShardedState::load_state_dict(const StateDict& state) {
    WholeModel::load_state_dict(state);
    load_sharded_optimizer_state(optimizer(), rows_, state, comm());
}

}  // namespace dist::trainer
