# The remote calls of chapter 09 beside PyTorch's own, for scripts/rpc_oracle.py and scripts/compare_rpc.py.
if(LibTorch_FOUND)
  set(remote_calls ${CMAKE_CURRENT_LIST_DIR}/remote_calls)
  add_executable(rpc_program EXCLUDE_FROM_ALL
    ${remote_calls}/rpc_program.cpp ${remote_calls}/rank.cpp ${remote_calls}/call_programs.cpp
    ${remote_calls}/reference_programs.cpp ${remote_calls}/autograd_model.cpp ${remote_calls}/autograd_programs.cpp
    ${remote_calls}/optimizer_programs.cpp ${remote_calls}/speed_programs.cpp)
  target_link_libraries(rpc_program PRIVATE
    solution_distributed_optimizer solution_dist_autograd solution_remote_reference solution_rpc
    solution_tcp_transport solution_full_mesh solution_file_store solution_hash_store
    dist::nn_parts dist::runtime dist::net dist::warnings Threads::Threads)
  compile_together(rpc_program)
endif()
