#include "exercises/08_model_parallel/redistribute.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <utility>
#include <vector>

#include <torch/csrc/autograd/custom_function.h>

#include "course/nn/rows.hpp"
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/02_naive_collectives/all_to_all.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"

namespace dist {

namespace {

using Kind = Placement::Kind;
using Sizes = std::vector<std::int64_t>;

/// From where to where, and among whom.
struct Way {
    Placement from, to, gradient;
    Sizes shape;
    const Communicator& comm;
};

/// What autograd keeps of it.
struct KeptWay : torch::CustomClassHolder {
    explicit KeptWay(Way kept) : way(std::move(kept)) {}
    Way way;
};

/// What rank i holds of a tensor of this shape.
Sizes part_of(Sizes shape, Placement placement, const Communicator& comm, int i) {
    if (placement.kind == Kind::shard) {
        std::int64_t& size = shape[static_cast<std::size_t>(placement.dim)];
        const Chunk chunk = chunk_bounds(static_cast<std::size_t>(size), comm.size(), i);
        size = static_cast<std::int64_t>(chunk.size());
    }
    return shape;
}

/// Rank i's shard: a view.
at::Tensor shard_of(const at::Tensor& whole, std::int64_t dim, const Communicator& comm, int i) {
    const auto n = static_cast<std::size_t>(whole.size(dim));
    const Chunk chunk = chunk_bounds(n, comm.size(), i);
    return whole.narrow(
        dim, static_cast<std::int64_t>(chunk.begin), static_cast<std::int64_t>(chunk.size())
    );
}

/// The part of a block that comes before its padding.
at::Tensor corner(at::Tensor block, at::IntArrayRef sizes) {
    for (std::int64_t d = 0; d < block.dim(); ++d) {
        block = block.narrow(d, 0, sizes[static_cast<std::size_t>(d)]);
    }
    return block;
}

/// A block for each rank, one behind the other. Rank 0 has the largest shard: a block has room for that.
at::Tensor new_blocks(Sizes block, const Communicator& comm) {
    block.insert(block.begin(), comm.size());
    return at::zeros(block);
}

/// The shards of a dimension, each in its block.
at::Tensor cut(
    const at::Tensor& whole, std::int64_t dim, const Sizes& block, const Communicator& comm
) {
    const at::Tensor blocks = new_blocks(block, comm);
    for (int i = 0; i < comm.size(); ++i) {
        const at::Tensor shard = shard_of(whole, dim, comm, i);
        corner(blocks[i], shard.sizes()).copy_(shard);
    }
    return blocks;
}

/// The tensor of this shape that was cut into these blocks.
at::Tensor joined(
    const at::Tensor& blocks, std::int64_t dim, const Sizes& shape, const Communicator& comm
) {
    at::Tensor whole = at::empty(shape);
    for (int i = 0; i < comm.size(); ++i) {
        const at::Tensor shard = shard_of(whole, dim, comm, i);
        shard.copy_(corner(blocks[i], shard.sizes()));
    }
    return whole;
}

at::Tensor gathered(const at::Tensor& local, const Way& way) {
    const at::Tensor blocks = new_blocks(part_of(way.shape, way.from, way.comm, 0), way.comm);
    corner(blocks[way.comm.rank()], local.sizes()).copy_(local);
    ring_all_gather(nn::floats(blocks), way.comm);
    return joined(blocks, way.from.dim, way.shape, way.comm);
}

at::Tensor reduced_and_scattered(const at::Tensor& local, const Way& way) {
    const Sizes block = part_of(way.shape, way.to, way.comm, 0);
    const at::Tensor blocks = cut(local, way.to.dim, block, way.comm);
    ring_reduce_scatter(nn::floats(blocks), ReduceOp::sum, way.comm);
    const int r = way.comm.rank();
    const at::Tensor own = corner(blocks[r], part_of(way.shape, way.to, way.comm, r));
    return own.clone(at::MemoryFormat::Contiguous);
}

/// Block j of rank i is what both hold of the whole, i before and j afterwards.
at::Tensor exchanged(const at::Tensor& local, const Way& way) {
    const Sizes block = part_of(part_of(way.shape, way.from, way.comm, 0), way.to, way.comm, 0);
    const at::Tensor out = cut(local, way.to.dim, block, way.comm);
    const at::Tensor in = new_blocks(block, way.comm);
    all_to_all(nn::floats(out), nn::floats(in), way.comm);
    return joined(
        in, way.from.dim, part_of(way.shape, way.to, way.comm, way.comm.rank()), way.comm
    );
}

at::Tensor reduced(const at::Tensor& local, const Way& way) {
    const at::Tensor sum = local.clone(at::MemoryFormat::Contiguous);
    ring_all_reduce(nn::floats(sum), ReduceOp::sum, way.comm);
    return sum;
}

/// A summand, of which those of all ranks make up the whole.
at::Tensor summand(const at::Tensor& local, const Way& way) {
    const int r = way.comm.rank();
    at::Tensor own = at::zeros(way.shape);
    if (way.from.kind == Kind::shard) {
        shard_of(own, way.from.dim, way.comm, r).copy_(local);
    } else if (r == 0) {
        own.copy_(local);
    }
    return own;
}

at::Tensor sliced(const at::Tensor& local, const Way& way) {
    const at::Tensor shard = shard_of(local, way.to.dim, way.comm, way.comm.rank());
    return shard.clone(at::MemoryFormat::Contiguous);
}

at::Tensor moved(const at::Tensor& local, const Way& way) {
    const Kind from = way.from.kind;
    if (way.from == way.to) {
        return local;
    }
    if (way.to.kind == Kind::partial) {
        return summand(local, way);
    }
    if (way.to.kind == Kind::replicate) {
        return from == Kind::shard ? gathered(local, way) : reduced(local, way);
    }
    return from == Kind::partial ? reduced_and_scattered(local, way)
           : from == Kind::shard ? exchanged(local, way)
                                 : sliced(local, way);
}

struct Redistribution : torch::autograd::Function<Redistribution> {
    static at::Tensor forward(
        torch::autograd::AutogradContext* context, const at::Tensor& local, const Way& way
    ) {
        context->saved_data["way"] = c10::IValue::make_capsule(c10::make_intrusive<KeptWay>(way));
        return moved(local, way);
    }

    static torch::autograd::variable_list backward(
        torch::autograd::AutogradContext* context, torch::autograd::variable_list gradients
    ) {
        const auto kept = context->saved_data["way"].toCapsule();
        const Way& way = static_cast<const KeptWay&>(*kept).way;
        return {
            redistribute(gradients[0], way.gradient, gradient_of(way.from), way.shape, way.comm),
            {}};
    }
};

}  // namespace

Placement gradient_of(Placement placement) {
    return placement.kind == Kind::shard ? placement : Placement::replicate();
}

at::Tensor redistribute(
    const at::Tensor& local,
    Placement from,
    Placement to,
    at::IntArrayRef shape,
    const Communicator& comm,
    std::optional<Placement> gradient
) {
    const auto dims = static_cast<std::int64_t>(shape.size());
    for (const Placement& placement : {from, to}) {
        expects(
            placement.kind != Kind::shard || (0 <= placement.dim && placement.dim < dims),
            "redistribute: the tensor has no such dimension to shard"
        );
    }
    expects(
        local.defined() && local.scalar_type() == at::kFloat &&
            local.sizes() == part_of(shape.vec(), from, comm, comm.rank()),
        "redistribute: local must be float32 and have the shape of this rank's part"
    );
    const Placement back = gradient.value_or(gradient_of(to));
    expects(
        to.kind == Kind::shard ? back == to : back.kind != Kind::shard,
        "redistribute: the gradient has the result's shape, so it cannot have that placement"
    );
    return Redistribution::apply(local, Way{from, to, back, shape.vec(), comm});
}

}  // namespace dist
