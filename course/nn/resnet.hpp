// ResNet34, with the names that torchvision gives its layers: conv1, bn1, layer1.0.conv1, ...,
// layer2.0.downsample.0, ..., fc.
#pragma once

#include <cstdint>
#include <memory>

#include "course/nn/model.hpp"

namespace dist::nn {

/// What comes before the first block.
///   cifar     3x3 convolution, stride 1: a 32x32 picture stays 32x32
///   imagenet  7x7 convolution, stride 2, then 3x3 max pooling, stride 2: 32x32 becomes 8x8
enum class Stem { cifar, imagenet };

/// A ResNet34 with fresh weights: convolutions by Kaiming's normal (fan out); batch normalisations
/// 1 and 0, but for the last of each block, which starts at 0, so that every block starts as its
/// short cut.
///
/// Cost    one picture of 32x32 forward: 1.16 G multiply-adds with the cifar stem, 0.07 G with
///         imagenet's.
/// Source  He et al. (2016), "Deep Residual Learning for Image Recognition", table 1; Goyal et al.
///         (2017), "Accurate, Large Minibatch SGD", section 5.1, for the zeros.
std::shared_ptr<Model> make_resnet34(Stem stem, std::int64_t classes);

}  // namespace dist::nn
