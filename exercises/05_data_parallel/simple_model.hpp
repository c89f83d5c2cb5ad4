// Exercise 05: one step of training on the smallest model there is, one number, by all ranks.
#pragma once

#include <ATen/core/Tensor.h>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/reduce_op.hpp"

namespace dist {

/// Takes one step of gradient descent: rank r's loss is (x - r)^2, backward() gives its gradient,
/// the ranks' gradients are combined with your ring_all_reduce, and x moves by -rate times the
/// result: x = 2 on two ranks goes to 1.7 with their mean, and to 1.4 with their sum, at rate 0.1.
///
/// x      one float32 element of any shape, a leaf that requires a gradient; the same number on
///        every rank. It is changed in place and stays such a leaf. Its gradient is afterwards the
///        combined one, a tensor of x's shape; what it was before does not count.
/// rate   how far x moves for each unit of the gradient.
/// op     ReduceOp::mean or ReduceOp::sum.
/// comm   collective: every rank of `comm` makes this call.
///
/// Cost   one ring all-reduce of one float: at most 2(p-1) messages and as many floats a rank.
/// Errors std::invalid_argument, before any message is sent and with x as it was, for another op,
///        or if x has not exactly one element. dist::Error if a message fails: x is then still a
///        leaf that requires a gradient, and autograd is on.
/// Source Robbins & Monro (1951), "A stochastic approximation method"; for p ranks, Zinkevich et al.
///        (2010), "Parallelized stochastic gradient descent".
void simple_model(const at::Tensor& x, double rate, ReduceOp op, const Communicator& comm);

}  // namespace dist
