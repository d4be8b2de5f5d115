# thalweg_compile_together(TARGET HEADER...): where files are compiled several at a time (CMAKE_UNITY_BUILD), also compiles the headers
# once for all targets that name the same ones. Most of a file's time goes to headers.
function(thalweg_compile_together target)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  target_compile_options(${target} PRIVATE -fpch-preprocess) # without which ccache can't
  get_target_property(kind ${target} TYPE) # libraries and programs are compiled with different flags
  string(MD5 headers "${kind} ${ARGN}")
  get_property(first GLOBAL PROPERTY thalweg_precompiled_${headers})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:\\1>")
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY thalweg_precompiled_${headers} ${target})
  endif()
endfunction()
set(THALWEG_STANDARD_HEADERS algorithm array cmath cstdint functional map memory optional random set span stdexcept
                             string utility vector)
list(TRANSFORM THALWEG_STANDARD_HEADERS REPLACE "(.+)" "<\\1>")

# thalweg_module(NAME SOURCES file... [DEPENDS module...]): one module of src/ as a static library.
# Its headers are included as <module>/<file>.hpp, from src/.
function(thalweg_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(thalweg_${name} STATIC ${ARG_SOURCES})
  target_include_directories(thalweg_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  # Visible, so that a shared library can be made of modules, as for SMPI; what else links them hides them. Functions are inlined all
  # the same.
  set_target_properties(thalweg_${name} PROPERTIES CXX_VISIBILITY_PRESET default)
  target_compile_options(thalweg_${name} PRIVATE -fno-semantic-interposition)
  thalweg_compile_together(thalweg_${name} ${THALWEG_STANDARD_HEADERS})
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(thalweg_${name} PUBLIC thalweg_${dependency})
  endforeach()
endfunction()
