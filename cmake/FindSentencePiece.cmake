# Finds SentencePiece, the library that trains and applies tokenizers: SentencePiece_FOUND and the target
# SentencePiece::sentencepiece, which can do both. Debian: libsentencepiece-dev.
find_path(SentencePiece_INCLUDE_DIR sentencepiece_trainer.h)
find_library(SentencePiece_LIBRARY sentencepiece)
find_library(SentencePiece_TRAIN_LIBRARY sentencepiece_train)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SentencePiece REQUIRED_VARS SentencePiece_LIBRARY SentencePiece_TRAIN_LIBRARY
                                                              SentencePiece_INCLUDE_DIR)
mark_as_advanced(SentencePiece_INCLUDE_DIR SentencePiece_LIBRARY SentencePiece_TRAIN_LIBRARY)

if(SentencePiece_FOUND AND NOT TARGET SentencePiece::sentencepiece)
  add_library(SentencePiece::sentencepiece UNKNOWN IMPORTED)
  set_target_properties(
    SentencePiece::sentencepiece
    PROPERTIES IMPORTED_LOCATION "${SentencePiece_TRAIN_LIBRARY}"
               INTERFACE_INCLUDE_DIRECTORIES "${SentencePiece_INCLUDE_DIR}"
               INTERFACE_LINK_LIBRARIES "${SentencePiece_LIBRARY}")
endif()
