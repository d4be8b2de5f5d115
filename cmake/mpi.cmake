# The MPI libraries found on this machine, each as an interface target mpi_<flavour> (headers and
# library) and an entry in THALWEG_MPI_FLAVOURS. Debian installs both side by side; FindMPI finds only
# the preferred one, so the compiler wrappers are asked by their full names.
set(THALWEG_MPI_FLAVOURS "")
function(thalweg_find_mpi flavour wrapper compile_query link_query)
  find_program(THALWEG_MPICXX_${flavour} NAMES ${wrapper})
  # Elsewhere there is one mpicxx, which only its own library's option tells apart.
  find_program(THALWEG_MPICXX NAMES mpicxx)
  if(NOT THALWEG_MPICXX_${flavour} AND THALWEG_MPICXX)
    execute_process(COMMAND ${THALWEG_MPICXX} ${compile_query} RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
      set(THALWEG_MPICXX_${flavour} ${THALWEG_MPICXX})
    endif()
  endif()
  if(NOT THALWEG_MPICXX_${flavour})
    message(STATUS "MPI ${flavour}: neither ${wrapper} nor an mpicxx of this library is on the PATH; not built for it")
    return()
  endif()
  execute_process(COMMAND ${THALWEG_MPICXX_${flavour}} ${compile_query}
                  OUTPUT_VARIABLE compile OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${THALWEG_MPICXX_${flavour}} ${link_query}
                  OUTPUT_VARIABLE link OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "-I[^ ]+" includes "${compile}")
  string(REPLACE "-I" "" includes "${includes}")
  string(REGEX MATCHALL "-L[^ ]+|-lmpi[^ ]*" libraries "${link}")
  list(REMOVE_ITEM libraries -lmpi_cxx -lmpichcxx)
  add_library(mpi_${flavour} INTERFACE)
  target_include_directories(mpi_${flavour} SYSTEM INTERFACE ${includes})
  target_link_options(mpi_${flavour} INTERFACE "LINKER:--no-as-needed")
  target_link_libraries(mpi_${flavour} INTERFACE ${libraries})
  # Headers without the library: the runtime resolves MPI at run time.
  add_library(mpi_${flavour}_headers INTERFACE)
  target_include_directories(mpi_${flavour}_headers SYSTEM INTERFACE ${includes})
  target_compile_definitions(mpi_${flavour} INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  target_compile_definitions(mpi_${flavour}_headers INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  set(THALWEG_MPI_FLAVOURS ${THALWEG_MPI_FLAVOURS} ${flavour} PARENT_SCOPE)
endfunction()
thalweg_find_mpi(openmpi mpicxx.openmpi --showme:compile --showme:link)
thalweg_find_mpi(mpich mpicxx.mpich -compile_info -link_info)
if(NOT THALWEG_MPI_FLAVOURS)
  message(WARNING "No MPI library is on the PATH (mpicxx of Open MPI, MPICH or Intel MPI): the runtime and the probe aren't built")
endif()

# SMPI, which simulates MPI programs that are recompiled for it, is a part of the program, not a library that is found at run time.
find_program(THALWEG_SMPICXX NAMES smpicxx)
if(THALWEG_SMPICXX)
  find_path(THALWEG_SMPI_INCLUDE NAMES mpi.h PATH_SUFFIXES smpi REQUIRED NO_CMAKE_FIND_ROOT_PATH)
  add_library(mpi_smpi_headers INTERFACE)
  target_include_directories(mpi_smpi_headers SYSTEM INTERFACE ${THALWEG_SMPI_INCLUDE})
  target_compile_definitions(mpi_smpi_headers INTERFACE THALWEG_SIMULATED)
endif()

find_program(GFORTRAN gfortran) # for the Fortran examples and tests
