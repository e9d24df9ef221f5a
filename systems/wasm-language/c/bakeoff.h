/* The two host functions by which the instrument knows where productive code begins and ends. */
#pragma once

__attribute__((import_module("bakeoff"), import_name("startup"))) void startup(void);
__attribute__((import_module("bakeoff"), import_name("finish"))) void finish(void);
