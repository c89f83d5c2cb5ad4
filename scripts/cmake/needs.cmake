# What exercises stand on, by the word `needs` of exercises/course.toml. A new kind is a row here, and one in
# course/manifest/needs.cpp. NEEDS_<word>_<field> says of a kind:
#   FOR_GPU             its targets are those of gpu_exercises.cmake
#   SIMULATED           it is built for SimGrid's MPI as well
#   SUFFIX              of an answer's file
#   FOUND               whether it is built here
#   USES                kinds whose references its programs may call
#   LIBRARIES OPTIONS PRECOMPILED      of all code of such an exercise
#   PRECOMPILED_FUNCTIONS   of answers instead, where its stub includes LibTorch's custom_function.h
#   PRECOMPILED_ANSWER PRECOMPILED_TEST   of NAME_test and NAME_test_object alone
#   PARTS               targets that a test is made from, beside those of every test
#   LOADED              libraries that host_<word> holds, which starts jobs that answers share
function(add_kind word)
  set(one SUFFIX FOUND PRECOMPILED PRECOMPILED_FUNCTIONS PRECOMPILED_ANSWER PRECOMPILED_TEST)
  set(several USES LIBRARIES OPTIONS PARTS LOADED)
  cmake_parse_arguments(row "FOR_GPU;SIMULATED" "${one}" "${several}" ${ARGN})
  foreach(field IN ITEMS FOR_GPU SIMULATED ${one} ${several})
    set(NEEDS_${word}_${field} "${row_${field}}" PARENT_SCOPE)
  endforeach()
  set(KINDS ${KINDS} ${word} PARENT_SCOPE)
endfunction()

add_kind(mpi SIMULATED SUFFIX .cpp FOUND ON USES mpi
  PRECOMPILED_ANSWER dist_messages PRECOMPILED_TEST dist_test_headers PARTS dist_messages)
add_kind(torch SUFFIX .cpp FOUND ${LibTorch_FOUND} USES mpi torch
  LIBRARIES dist::nn_parts LibTorch::LibTorch OPTIONS -fPIC -Wpedantic PRECOMPILED dist_tensors  # options as dist_tensors
  PRECOMPILED_FUNCTIONS dist_functions PARTS dist_nn_parts LOADED LibTorch::LibTorch)
add_kind(nccl FOR_GPU SUFFIX .cpp FOUND ${SHARDLINGS_GPU} USES mpi nccl cuda
  PRECOMPILED_ANSWER dist_messages PARTS dist_messages)
add_kind(cuda FOR_GPU SUFFIX .cu FOUND ${SHARDLINGS_GPU} USES mpi nccl cuda)
