// Every rank sends each other rank exactly what that one needs: no ring, and no padding.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <utility>
#include <vector>

#include <torch/csrc/autograd/custom_function.h>

#include "course/nn/rows.hpp"
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/isend_irecv.hpp"
#include "exercises/08_model_parallel/redistribute.hpp"

namespace dist {

namespace {

using Kind = Placement::Kind;
using Sizes = std::vector<std::int64_t>;
using Tensors = std::vector<at::Tensor>;

/// Rank i's part of a tensor: a view.
at::Tensor part(const at::Tensor& of, Placement placement, const Communicator& comm, int i) {
    if (placement.kind != Kind::shard) {
        return of;
    }
    const auto n = static_cast<std::size_t>(of.size(placement.dim));
    const Chunk chunk = chunk_bounds(n, comm.size(), i);
    return of.narrow(
        placement.dim, static_cast<std::int64_t>(chunk.begin),
        static_cast<std::int64_t>(chunk.size())
    );
}

/// A tensor of this shape without memory for its elements: to ask for the sizes of its parts.
at::Tensor outline(const Sizes& shape) {
    return at::zeros({}).expand(shape);
}

/// Sends out[j] to each rank j, and receives into in[i] from each rank i; its own is copied.
void exchange(const Tensors& out, const Tensors& in, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    Tensors rows(out.size());
    std::vector<Request> requests;
    for (int s = 1; s < p; ++s) {
        const auto src = static_cast<std::size_t>((r - s + p) % p);
        requests.push_back(irecv(nn::floats(in[src]), static_cast<int>(src), comm));
    }
    for (int s = 1; s < p; ++s) {
        const auto dst = static_cast<std::size_t>((r + s) % p);
        rows[dst] = out[dst].contiguous();
        requests.push_back(isend(nn::floats(rows[dst]), static_cast<int>(dst), comm));
    }
    in[static_cast<std::size_t>(r)].copy_(out[static_cast<std::size_t>(r)]);
    wait_all(requests);
}

/// From a shard, or from partial to a shard.
at::Tensor sent(
    const at::Tensor& local,
    Placement from,
    Placement to,
    const Sizes& shape,
    const Communicator& comm
) {
    Tensors out;
    Tensors in;
    for (int i = 0; i < comm.size(); ++i) {
        out.push_back(part(local, to, comm, i));
        const at::Tensor theirs = part(outline(shape), from, comm, i);
        in.push_back(at::empty(part(theirs, to, comm, comm.rank()).sizes()));
    }
    exchange(out, in, comm);
    at::Tensor result = at::zeros(part(outline(shape), to, comm, comm.rank()).sizes());
    for (int i = 0; i < comm.size(); ++i) {
        part(result, from, comm, i).add_(in[static_cast<std::size_t>(i)]);
    }
    return result;
}

at::Tensor moved(
    const at::Tensor& local,
    Placement from,
    Placement to,
    const Sizes& shape,
    const Communicator& comm
) {
    if (from == to) {
        return local;
    }
    const int r = comm.rank();
    if (to.kind == Kind::partial) {
        at::Tensor own = at::zeros(shape);
        if (from.kind == Kind::shard || r == 0) {
            part(own, from, comm, r).copy_(local);
        }
        return own;
    }
    if (from.kind == Kind::replicate) {
        return part(local, to, comm, r).clone(at::MemoryFormat::Contiguous);
    }
    if (from.kind == Kind::partial && to.kind == Kind::replicate) {
        const Sizes row = {local.numel()};
        const Placement cut = Placement::shard(0);
        const at::Tensor own = sent(local.reshape({-1}), from, cut, row, comm);
        return sent(own, cut, to, row, comm).view(shape);
    }
    return sent(local, from, to, shape, comm);
}

struct Move : torch::autograd::Function<Move> {
    struct Kept : torch::CustomClassHolder {
        Placement from, gradient;
        Sizes shape;
        const Communicator* comm = nullptr;
    };

    static at::Tensor forward(
        torch::autograd::AutogradContext* context,
        const at::Tensor& local,
        Placement to,
        const c10::intrusive_ptr<Kept>& kept
    ) {
        context->saved_data["kept"] = c10::IValue::make_capsule(kept);
        return moved(local, kept->from, to, kept->shape, *kept->comm);
    }

    static torch::autograd::variable_list backward(
        torch::autograd::AutogradContext* context, torch::autograd::variable_list gradients
    ) {
        const auto capsule = context->saved_data["kept"].toCapsule();
        const auto& kept = static_cast<const Kept&>(*capsule);
        const at::Tensor back = redistribute(
            gradients[0], kept.gradient, gradient_of(kept.from), kept.shape, *kept.comm
        );
        return {back, {}, {}};
    }
};

}  // namespace

Placement gradient_of(Placement placement) {
    return placement == Placement::partial() ? Placement::replicate() : placement;
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
    const auto exists = [&](Placement one) {
        return one.kind != Kind::shard || (one.dim >= 0 && one.dim < dims);
    };
    expects(exists(from) && exists(to), "redistribute: no such dimension");
    expects(
        local.defined() && local.scalar_type() == at::kFloat &&
            local.sizes() == part(outline(shape.vec()), from, comm, comm.rank()).sizes(),
        "redistribute: another local tensor is needed"
    );
    auto kept = c10::make_intrusive<Move::Kept>();
    kept->from = from;
    kept->gradient = gradient.value_or(gradient_of(to));
    kept->shape = shape.vec();
    kept->comm = &comm;
    const bool is_cut = to.kind == Kind::shard;
    expects(
        is_cut ? kept->gradient == to : kept->gradient.kind != Kind::shard,
        "redistribute: no such gradient"
    );
    return Move::apply(local, to, kept);
}

}  // namespace dist
