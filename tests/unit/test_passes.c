// SPDX-License-Identifier: GPL-2.0
/*
 * The measured passes are the same bytes in the guest image and in the module.
 *
 * Every pass stands between the labels ts_begin_NAME and ts_end_NAME. Both files are read as ELF
 * (the image linked, the module relocatable), the labels are matched by name, and the bytes between
 * them compared. A relocation between two labels would make equal bytes unequal code, so there must
 * be none.
 *
 * The module is build/module/tlbscope.ko (make module), or TLBSCOPE_MODULE; without it the
 * comparison is skipped. The image is build/guest/tlbscope-guest.elf, or TLBSCOPE_GUEST.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BEGIN "ts_begin_"
#define END "ts_end_"
#define PASSES 81 /* 9 ops, each alone and in 2 bodies with 4 kinds of touches: passes.c */

struct file {
	unsigned char *bytes;
	size_t size;
	const Elf64_Ehdr *header;
	const Elf64_Shdr *sections;
	const Elf64_Sym *symbols;
	size_t symbol_count;
	const char *names;
};

static const char *guest_path(void)
{
	return getenv("TLBSCOPE_GUEST") ?: "build/guest/tlbscope-guest.elf";
}

static const char *module_path(void)
{
	return getenv("TLBSCOPE_MODULE") ?: "build/module/tlbscope.ko";
}

/* 1 if there is such a file; what is in it has to be an ELF file with symbols. */
static int load(const char *path, struct file *file)
{
	FILE *in = fopen(path, "rb");
	size_t i;

	memset(file, 0, sizeof(*file));
	if (!in)
		return 0;
	assert_return_code(fseek(in, 0, SEEK_END), 0);
	file->size = ftell(in);
	rewind(in);
	file->bytes = malloc(file->size);
	assert_int_equal(fread(file->bytes, 1, file->size, in), file->size);
	fclose(in);
	file->header = (const Elf64_Ehdr *)file->bytes;
	assert_true(file->size > sizeof(Elf64_Ehdr));
	assert_memory_equal(file->header->e_ident, ELFMAG, SELFMAG);
	file->sections = (const Elf64_Shdr *)(file->bytes + file->header->e_shoff);
	for (i = 0; i < file->header->e_shnum; i++) {
		const Elf64_Shdr *section = &file->sections[i];

		if (section->sh_type != SHT_SYMTAB)
			continue;
		file->symbols = (const Elf64_Sym *)(file->bytes + section->sh_offset);
		file->symbol_count = section->sh_size / sizeof(Elf64_Sym);
		file->names = (const char *)file->bytes +
			      file->sections[section->sh_link].sh_offset;
	}
	assert_non_null(file->symbols);
	return 1;
}

static const Elf64_Sym *find(const struct file *file, const char *prefix, const char *name)
{
	size_t i, n = strlen(prefix);

	for (i = 0; i < file->symbol_count; i++) {
		const char *symbol = file->names + file->symbols[i].st_name;

		if (!strncmp(symbol, prefix, n) && !strcmp(symbol + n, name))
			return &file->symbols[i];
	}
	return NULL;
}

/* The bytes of one pass, in the file; its size is 0 if a label is missing. */
static unsigned char *pass(const struct file *file, const char *name, size_t *size)
{
	const Elf64_Sym *begin = find(file, BEGIN, name), *end = find(file, END, name);
	const Elf64_Shdr *section;

	*size = 0;
	if (!begin || !end || begin->st_shndx != end->st_shndx || end->st_value <= begin->st_value)
		return NULL;
	section = &file->sections[begin->st_shndx];
	*size = end->st_value - begin->st_value;
	/* Symbols of a relocatable file count from their section, others from 0. */
	return file->bytes + section->sh_offset + begin->st_value -
	       (file->header->e_type == ET_REL ? 0 : section->sh_addr);
}

/* Relocations of the section of a pass that lie inside of it. */
static size_t relocations_inside(const struct file *file, const char *name)
{
	const Elf64_Sym *begin = find(file, BEGIN, name), *end = find(file, END, name);
	size_t i, j, found = 0;

	for (i = 0; i < file->header->e_shnum; i++) {
		const Elf64_Shdr *section = &file->sections[i];
		const Elf64_Rela *rela = (const Elf64_Rela *)(file->bytes + section->sh_offset);

		if (section->sh_type != SHT_RELA || section->sh_info != begin->st_shndx)
			continue;
		for (j = 0; j < section->sh_size / sizeof(*rela); j++)
			found += rela[j].r_offset >= begin->st_value &&
				 rela[j].r_offset < end->st_value;
	}
	return found;
}

/* Compares all passes of a with those of b; prints each that differs. Returns how many do. */
static size_t differences(const struct file *a, const struct file *b, size_t *passes)
{
	size_t i, differ = 0, size_a, size_b;

	*passes = 0;
	for (i = 0; i < a->symbol_count; i++) {
		const char *name = a->names + a->symbols[i].st_name;
		unsigned char *in_a, *in_b;

		if (strncmp(name, BEGIN, strlen(BEGIN)))
			continue;
		name += strlen(BEGIN);
		in_a = pass(a, name, &size_a);
		in_b = pass(b, name, &size_b);
		++*passes;
		if (in_a && in_b && size_a == size_b && !memcmp(in_a, in_b, size_a))
			continue;
		print_message("pass %s: %zu bytes in one, %zu in the other%s\n", name, size_a,
			      size_b, size_a == size_b ? ", unequal" : "");
		differ++;
	}
	return differ;
}

struct files {
	struct file guest, module;
};

static int set_up(void **state)
{
	struct files *files = calloc(1, sizeof(*files));

	*state = files;
	assert_true(load(guest_path(), &files->guest));
	load(module_path(), &files->module);
	return 0;
}

static int tear_down(void **state)
{
	struct files *files = *state;

	free(files->guest.bytes);
	free(files->module.bytes);
	free(files);
	return 0;
}

static struct files *both(void **state)
{
	struct files *files = *state;

	if (!files->module.bytes) {
		print_message("no %s: make module builds it\n", module_path());
		skip();
	}
	return files;
}

static void test_guest_has_all_passes(void **state)
{
	struct files *files = *state;
	size_t passes;

	assert_int_equal(differences(&files->guest, &files->guest, &passes), 0);
	assert_int_equal(passes, PASSES);
}

static void test_same_bytes(void **state)
{
	struct files *files = both(state);
	size_t passes;

	assert_int_equal(differences(&files->guest, &files->module, &passes), 0);
	assert_int_equal(passes, PASSES);
	assert_int_equal(differences(&files->module, &files->guest, &passes), 0);
	assert_int_equal(passes, PASSES);
}

static void test_no_relocation_inside(void **state)
{
	struct files *files = both(state);
	size_t i;

	for (i = 0; i < files->module.symbol_count; i++) {
		const char *name = files->module.names + files->module.symbols[i].st_name;

		if (strncmp(name, BEGIN, strlen(BEGIN)))
			continue;
		name += strlen(BEGIN);
		assert_int_equal(relocations_inside(&files->module, name), 0);
	}
}

/* The loops read the counters before and behind what is timed, the other passes never (RDPMC is 0F 33). */
static void test_counters_are_read(void **state)
{
	struct files *files = *state;
	size_t i, at, size, found, looked = 0;

	for (i = 0; i < files->guest.symbol_count; i++) {
		const char *name = files->guest.names + files->guest.symbols[i].st_name;
		const unsigned char *bytes;

		if (strncmp(name, BEGIN, strlen(BEGIN)))
			continue;
		name += strlen(BEGIN);
		bytes = pass(&files->guest, name, &size);
		for (at = found = 0; at + 1 < size; at++)
			found += bytes[at] == 0x0f && bytes[at + 1] == 0x33;
		assert_int_equal(found, strstr(name, "_retouch_") ? 0 : 2);
		looked++;
	}
	assert_int_equal(looked, PASSES);
}

/* One bit of one pass changed, in the first byte, in the last, in any pass: it is always seen. */
static void test_a_change_is_seen(void **state)
{
	static const char *const names[] = { "none_only", "invlpg_retouch_cr", "pge_both_sw" };
	struct files *files = both(state);
	size_t i, size, passes;
	unsigned char *bytes;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bytes = pass(&files->module, names[i], &size);
		assert_non_null(bytes);
		bytes[0] ^= 1;
		assert_int_equal(differences(&files->guest, &files->module, &passes), 1);
		bytes[0] ^= 1;
		bytes[size - 1] ^= 0x80;
		assert_int_equal(differences(&files->guest, &files->module, &passes), 1);
		bytes[size - 1] ^= 0x80;
	}
	assert_int_equal(differences(&files->guest, &files->module, &passes), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_guest_has_all_passes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_same_bytes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_relocation_inside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_counters_are_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_change_is_seen, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
