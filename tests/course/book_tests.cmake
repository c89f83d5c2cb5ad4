# The book: what Sphinx makes of the lessons, and how it is served.
add_test(NAME book COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/book_test.sh $<TARGET_FILE:shardlings_cli>)
# The lessons as notebooks, run from top to bottom, where Jupyter's packages are.
add_test(NAME notebooks COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/notebooks_test.sh $<TARGET_FILE:shardlings_cli>)
set_tests_properties(notebooks PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 3600)
set_tests_properties(book PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 600)
